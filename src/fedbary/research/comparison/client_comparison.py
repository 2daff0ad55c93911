"""`Comparison`: what different methods say the same clients are worth, and its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.export import write
from fedbary.errors import DataError, SettingsError
from fedbary.research.comparison.measures import agreement
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.research.training import TrainingLog
    from fedbary.views.plots import Display

_FILE, _LOG = "comparison.json", "training-log.npz"
_TABLES = ("scores.csv", "summary.csv", "plot.html")
VERSION = 1


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of the same clients by several methods.

    Parameters
    ----------
    scores : mapping
        Method → `ClientScores`.
    failed : mapping
        Method → why it could not be computed; the others are not affected.
    settings : mapping
        What is needed to repeat it: model, training, seed; and the accuracy of the trained model.
    log : TrainingLog, optional
        The training run that the methods worked on.
    """

    scores: Mapping[str, ClientScores]
    failed: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log: TrainingLog | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per method and client: method, client, value, standard_error, share."""
        import pandas as pd

        frames = [scores.to_frame().assign(method=name) for name, scores in self.scores.items()]
        columns = ["method", "client", "value", "standard_error", "share"]
        return pd.concat(frames, ignore_index=True)[columns] if frames else pd.DataFrame(columns=columns)

    def summary(self, truth: str | None = None) -> pd.DataFrame:
        """One row per method: agreement with ``truth`` (default: the one that was named, or exactFed), and cost.

        ``share_error`` is the mean absolute difference of shares.
        """
        import pandas as pd

        truth = truth or self._truth()
        if truth is not None and truth not in self.scores:
            raise SettingsError(f"'{truth}' is not among the methods compared ({', '.join(self.scores)}).")
        records = []
        for name, scores in self.scores.items():
            agreed = agreement(scores, self.scores[truth]) if truth is not None else {}
            records.append(
                {
                    "method": name,
                    **agreed,
                    "evaluations": scores.evaluations,
                    "seconds": scores.seconds,
                    "converged": scores.converged,
                }
            )
        columns = ["method", "spearman", "kendall", "share_error", "evaluations", "seconds", "converged"]
        return pd.DataFrame(records).reindex(columns=columns)

    def display(self, truth: str | None = None) -> Display:
        """Every client's share by every method; the truth comes first."""
        from fedbary.views.plots import method_shares

        return method_shares(self.to_frame(), truth or self._truth())

    def plot(self, truth: str | None = None) -> Figure:
        """`display` as a Plotly figure."""
        return self.display(truth).plot()

    def _truth(self) -> str | None:
        named = self.settings.get("truth") or "exactfed"
        return named if named in self.scores else None

    def save(self, folder: str | Path) -> Path:
        """Write ``comparison.json``, ``scores.csv``, ``summary.csv``, the training log and a JSON file per method."""
        home = Path(folder)
        for file in check_folder(home):
            file.unlink(missing_ok=True)
        (home / "scores").mkdir(parents=True, exist_ok=True)
        for name, scores in self.scores.items():
            scores.save(home / "scores" / f"{name}.json")
        if self.log is not None:
            self.log.save(home / _LOG)
        write(self.to_frame(), home / "scores.csv")
        write(self.summary(), home / "summary.csv")
        index = {
            "fedbary": "comparison",
            "version": VERSION,
            "methods": list(self.scores),
            "failed": dict(self.failed),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }
        (home / _FILE).write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return home

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Read what `save` wrote."""
        home = Path(folder)
        index = _index(home)
        scores = {name: ClientScores.load(home / "scores" / f"{name}.json") for name in index["methods"]}
        log = None
        if (home / _LOG).is_file():
            from fedbary.research.training import TrainingLog

            log = TrainingLog.load(home / _LOG)
        return cls(scores, index["failed"], index["settings"], tuple(index["notes"]), log)


def _index(home: Path) -> dict[str, Any]:
    """The folder's index, checked."""
    file = home / _FILE
    if not file.is_file():
        raise DataError(f"'{home}' holds no comparison (there is no {_FILE}): check the folder.")
    try:
        index: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if index["fedbary"] != "comparison" or index["version"] != VERSION:
            raise DataError(f"'{file}' is not a comparison of version {VERSION}: compare again.")
        index["methods"] = [str(name) for name in index["methods"]]
        index["notes"] = [str(note) for note in index["notes"]]
        index["failed"], index["settings"] = dict(index["failed"]), dict(index["settings"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"'{file}' is not a comparison ({error}): compare again.") from error
    if any(name != Path(name).name for name in index["methods"]):
        raise DataError(f"'{file}' names files outside its own folder: do not trust it.")
    return index


def check_folder(folder: str | Path) -> set[Path]:
    """Refuse a folder in which saving would overwrite files that no comparison wrote; returns those that one wrote."""
    home = Path(folder)
    own: set[Path] = set()
    if (home / _FILE).is_file():
        own = {home / name for name in (_FILE, _LOG, *_TABLES)}
        own |= {home / "scores" / f"{name}.json" for name in _index(home)["methods"]}
    planned = {home / name for name in (_FILE, _LOG, *_TABLES)} | set((home / "scores").glob("*"))
    foreign = sorted(file for file in planned - own if file.exists())
    if foreign:
        raise DataError(
            f"'{home}' holds {foreign[0].relative_to(home)}, which is not from an earlier comparison and would be "
            "overwritten: choose another folder."
        )
    return own
