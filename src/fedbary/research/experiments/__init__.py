"""Tables of the documentation, one file each; `fedbary reproduce NAME` runs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fedbary.checks import did_you_mean
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.research.experiments.cells import Progress

    Run = Callable[[bool, Path, int, Progress | None], pd.DataFrame]


@dataclass(frozen=True)
class Experiment:
    """A table that can be computed again."""

    name: str
    shows: str

    def run(self) -> Run:
        """The function that computes it: ``run(smoke, folder, workers, progress)``."""
        run: Run = self._module().run
        return run

    def cells(self, smoke: bool) -> list[Any]:
        """What it computes, one after the other."""
        cells: list[Any] = self._module().cells(smoke)
        return cells

    def compute(self, cell: Any) -> list[dict[str, Any]]:
        """Compute one cell; nothing is kept."""
        records: list[dict[str, Any]] = self._module().compute(cell)
        return records

    def _module(self) -> ModuleType:
        return import_module(f"fedbary.research.experiments.{self.name.replace('-', '_')}")


EXPERIMENTS = (
    Experiment("detection", "How well each method finds spoilt rows, whatever the noise and the label skew."),
    Experiment("accuracy", "How close each protocol comes to the exact distance, for few and for many points."),
    Experiment("ranking", "How well distance, excess and quality order clients by their share of spoilt rows."),
    Experiment("five-cases", "The paper's five cases: every method that trains, and our protocols, beside exactFed."),
    Experiment("fidelity", "Every method beside retraining on all coalitions, in ten kinds of federations."),
    Experiment("timing", "The paper's Table 2: how long methods take for 5 to 100 clients, as ratios to ours."),
    Experiment("boost", "How much better a federated model becomes once flagged rows are dropped or relabelled."),
    Experiment(
        "point-removal", "Accuracy as a client's rows are left out, those that a method likes least or most first."
    ),
    Experiment("duplication", "What a client gains by copying rows, its whole set, or itself."),
)


def find(name: str) -> Experiment:
    """The experiment of this name.

    Examples
    --------
    >>> find("accuracy").name
    'accuracy'
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    there = [experiment.name for experiment in EXPERIMENTS]
    raise SettingsError(f"There is no experiment {name!r}{did_you_mean(name, there)}; there is {', '.join(there)}.")
