"""`Comparison`: what different methods say the same clients are worth, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.export import write
from fedbary.errors import SettingsError
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison.measures import agreement
from fedbary_lab.result_folder import read_index, refuse_foreign, write_index

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

    from fedbary.views.plots import Display
    from fedbary_lab.training.training_log import TrainingLog

_KIND, _FILE, _LOG = "comparison", "comparison.json", "training-log.npz"
_TABLES = ("scores.csv", "summary.csv", "plot.html")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of the same clients by several methods.

    Parameters
    ----------
    scores : mapping
        Method → `ClientScores`.
    failed : mapping
        Method → `Note` that says why it could not be computed; the others are not affected.
    settings : mapping
        What is needed to repeat it: model, training, seed; and the accuracy of the trained model.
    log : TrainingLog, optional
        The training run that the methods worked on.
    """

    scores: Mapping[str, ClientScores]
    failed: Mapping[str, Note] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
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
            raise SettingsError("research.truth-not-compared", name=str(truth), methods=", ".join(self.scores))
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
        from fedbary_lab.plots import method_shares

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
            "methods": list(self.scores),
            "failed": {name: why.to_json() for name, why in self.failed.items()},
            "settings": dict(self.settings),
            "notes": [note.to_json() for note in self.notes],
        }
        write_index(home / _FILE, _KIND, index)
        return home

    @classmethod
    def load(cls, folder: str | Path) -> Comparison:
        """Read what `save` wrote."""
        home = Path(folder)
        index = read_index(home / _FILE, _KIND, _parsed)
        scores = {name: ClientScores.load(home / "scores" / f"{name}.json") for name in index["methods"]}
        log = None
        if (home / _LOG).is_file():
            from fedbary_lab.training.training_log import TrainingLog

            log = TrainingLog.load(home / _LOG)
        return cls(scores, index["failed"], index["settings"], tuple(index["notes"]), log)


def check_folder(folder: str | Path) -> set[Path]:
    """Refuse a folder in which saving would overwrite files that no comparison wrote; returns those that one wrote."""
    home = Path(folder)
    own: set[Path] = set()
    tables = {home / name for name in (_FILE, _LOG, *_TABLES)}
    if (home / _FILE).is_file():
        methods = read_index(home / _FILE, _KIND, _parsed)["methods"]
        own = tables | {home / "scores" / f"{name}.json" for name in methods}
    refuse_foreign(home, (tables | set((home / "scores").glob("*"))) - own, _KIND)
    return own


def _parsed(index: Mapping[str, Any]) -> dict[str, Any]:
    methods = [str(name) for name in index["methods"]]
    if any(name != Path(name).name for name in methods):
        raise ValueError("it names files outside its own folder")
    return {
        "methods": methods,
        "failed": {str(name): Note.from_json(why) for name, why in index["failed"].items()},
        "settings": dict(index["settings"]),
        "notes": [Note.from_json(note) for note in index["notes"]],
    }
