"""`Boost`: what acting on flags did to a model, and its files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.export import write
from fedbary.errors import DataError
from fedbary.valuation.result import Valuation
from fedbary.valuation.storage import check_output

if TYPE_CHECKING:
    import pandas as pd

_FILE, _TABLE, _VALUATION = "boost.json", "boost.csv", "valuation"
VERSION = 1


@dataclass(frozen=True)
class Trained:
    """What one way of acting left to train on, and how good the model became; NaN where there was none."""

    rows: int
    dropped: int
    relabelled: int
    accuracy: float


@dataclass(frozen=True, eq=False)
class Boost:
    """Models of the same clients, trained with and without acting on the flags.

    Parameters
    ----------
    outcomes : mapping
        ``none``, ``drop``, ``relabel`` → `Trained`.
    valuation : Valuation
        Where the flags come from.
    failed : tuple of str
        Clients that could not be valued or could not train; a note says which and why.
    settings : mapping
        What is needed to repeat it: model, training, seed, and how many rows the model was tested on.
    notes : tuple of str
        Who was left out, and who was used as it is.
    """

    outcomes: Mapping[str, Trained]
    valuation: Valuation
    failed: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per way of acting: how, rows (trained on), dropped, relabelled, accuracy, gain over ``none``."""
        import pandas as pd

        plain = self.outcomes["none"].accuracy if "none" in self.outcomes else math.nan
        records = [{"how": how, **asdict(done), "gain": done.accuracy - plain} for how, done in self.outcomes.items()]
        return pd.DataFrame(records)

    def save(self, folder: str | Path) -> Path:
        """Write ``boost.json``, ``boost.csv`` and the valuation; `load` reads them back."""
        home = Path(folder)
        check_folder(home)
        home.mkdir(parents=True, exist_ok=True)
        self.valuation.save(home / _VALUATION)
        write(self.to_frame(), home / _TABLE)
        outcomes = {
            how: asdict(done) | {"accuracy": done.accuracy if math.isfinite(done.accuracy) else None}
            for how, done in self.outcomes.items()
        }
        index = {
            "fedbary": "boost",
            "version": VERSION,
            "outcomes": outcomes,
            "failed": list(self.failed),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }
        text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
        (home / _FILE).write_text(text + "\n", encoding="utf-8")
        return home

    @classmethod
    def load(cls, folder: str | Path) -> Boost:
        """Read what `save` wrote."""
        home = Path(folder)
        index = _index(home)
        outcomes, failed, notes = index["outcomes"], tuple(index["failed"]), tuple(index["notes"])
        return cls(outcomes, Valuation.load(home / _VALUATION), failed, index["settings"], notes)


def check_folder(folder: str | Path) -> None:
    """Refuse a folder in which saving would overwrite files that no boost wrote."""
    home = Path(folder)
    if (home / _FILE).exists():
        _index(home)
    elif (home / _TABLE).exists():
        raise DataError(
            f"'{home}' holds {_TABLE}, which is not from an earlier boost and would be overwritten: choose another "
            "folder."
        )
    check_output(home / _VALUATION)


def _index(home: Path) -> dict[str, Any]:
    """The folder's index, checked."""
    file = home / _FILE
    if not file.is_file():
        raise DataError(f"'{home}' holds no boost (there is no {_FILE}): check the folder.")
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if index["fedbary"] != "boost" or index["version"] != VERSION:
            raise DataError(f"'{file}' is not a boost of version {VERSION}: run it again.")
        index["outcomes"] = {str(how): _trained(done) for how, done in index["outcomes"].items()}
        index["failed"] = [str(name) for name in index["failed"]]
        index["notes"] = [str(note) for note in index["notes"]]
        index["settings"] = dict(index["settings"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"'{file}' is not a boost ({error}): run it again.") from error
    return index


def _trained(stored: Mapping[str, Any]) -> Trained:
    accuracy = math.nan if stored["accuracy"] is None else float(stored["accuracy"])
    return Trained(int(stored["rows"]), int(stored["dropped"]), int(stored["relabelled"]), accuracy)
