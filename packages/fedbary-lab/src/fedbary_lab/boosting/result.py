"""`Boost`: what acting on flags did to a model, and its files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.export import write
from fedbary.notes import Note
from fedbary.valuation.result import Valuation
from fedbary.valuation.storage import check_output
from fedbary_lab.result_folder import read_index, refuse_foreign, write_index

if TYPE_CHECKING:
    import pandas as pd

_KIND, _FILE, _TABLE, _VALUATION = "boost", "boost.json", "boost.csv", "valuation"


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
    notes : tuple of Note
        Who was left out, and who was used as it is.
    """

    outcomes: Mapping[str, Trained]
    valuation: Valuation
    failed: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

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
            "outcomes": outcomes,
            "failed": list(self.failed),
            "settings": dict(self.settings),
            "notes": [note.to_json() for note in self.notes],
        }
        write_index(home / _FILE, _KIND, index)
        return home

    @classmethod
    def load(cls, folder: str | Path) -> Boost:
        """Read what `save` wrote."""
        home = Path(folder)
        outcomes, failed, settings, notes = read_index(home / _FILE, _KIND, _parsed)
        return cls(outcomes, Valuation.load(home / _VALUATION), failed, settings, notes)


def check_folder(folder: str | Path) -> None:
    """Refuse a folder in which saving would overwrite files that no boost wrote."""
    home = Path(folder)
    if (home / _FILE).exists():
        read_index(home / _FILE, _KIND, _parsed)
    else:
        refuse_foreign(home, [home / _TABLE], _KIND)
    check_output(home / _VALUATION)


def _parsed(
    index: Mapping[str, Any],
) -> tuple[dict[str, Trained], tuple[str, ...], dict[str, Any], tuple[Note, ...]]:
    outcomes = {str(how): _trained(done) for how, done in index["outcomes"].items()}
    notes = tuple(Note.from_json(note) for note in index["notes"])
    return outcomes, tuple(map(str, index["failed"])), dict(index["settings"]), notes


def _trained(stored: Mapping[str, Any]) -> Trained:
    accuracy = math.nan if stored["accuracy"] is None else float(stored["accuracy"])
    return Trained(int(stored["rows"]), int(stored["dropped"]), int(stored["relabelled"]), accuracy)
