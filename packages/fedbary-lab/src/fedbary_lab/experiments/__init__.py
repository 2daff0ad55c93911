"""Tables of the documentation, one file each; `fedbary reproduce NAME` runs them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fedbary.checks import did_you_mean
from fedbary.data.export import write
from fedbary.errors import SettingsError
from fedbary_lab.experiments import drawn, origin, stored
from fedbary_lab.experiments.cells import Compute, Progress, cached_seconds, run_cells

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Experiment:
    """A table that can be computed again.

    Its module has ``cells(smoke)``, what is computed; ``compute(cell)``, the records of a cell; ``table(records)`` and
    ``markdown(table)``; ``pictures(table)`` where there are any; and ``facts(table)``, the numbers that pages quote.
    Cells that are timed run ``alone``, one after the other in this process. With ``client_methods`` each of its cells
    computes every method that values clients, whoever brought it.
    """

    name: str
    shows: str
    alone: bool = False
    client_methods: bool = False

    @property
    def module(self) -> ModuleType:
        """Where it is written down."""
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")

    @property
    def minutes(self) -> float | None:
        """Minutes of one core that the table of the documentation took, where there is one."""
        return stored.minutes().get(self.name)

    def cells(self, smoke: bool) -> list[Any]:
        """What it computes, one after the other."""
        cells: list[Any] = self.module.cells(smoke)
        return cells

    @property
    def compute(self) -> Compute[Any]:
        """The records of a cell."""
        compute: Compute[Any] = self.module.compute
        return compute

    @property
    def digest(self) -> str:
        """What its cells depend on besides themselves and the code of core and laboratory."""
        return ""

    def facts(self, table: pd.DataFrame) -> dict[str, float]:
        """The numbers of the table that pages quote, by name, as far as the table has them."""
        found: dict[str, float] = self.module.facts(table) if hasattr(self.module, "facts") else {}
        return {name: float(number) for name, number in found.items() if isfinite(number)}

    def folder(self, output: Path, *, smoke: bool) -> Path:
        """Where its files are; a smoke test never overwrites the real table."""
        return output / (f"{self.name}-smoke" if smoke else self.name)

    def cached_seconds(self, output: Path, *, smoke: bool) -> list[float | None]:
        """How long each cell took that is there already; None where it is missing."""
        return cached_seconds(self.cells(smoke), self.folder(output, smoke=smoke) / "cells", digest=self.digest)

    def run(
        self,
        output: Path,
        *,
        smoke: bool = False,
        only: str = "",
        workers: int = 1,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Compute the cells; tables, pictures and ``provenance.json`` are written beside them.

        ``only`` cells that are called something with this text are part of it, for a look at what has changed.
        """
        folder, module = self.folder(output, smoke=smoke), self.module
        processes = 1 if self.alone else workers
        cells = [cell for cell in self.cells(smoke) if only in str(cell)]
        if not cells:
            raise SettingsError("research.no-such-cell", name=self.name, only=only)
        records = run_cells(
            cells, self.compute, folder / "cells", workers=processes, progress=progress, digest=self.digest
        )
        final = stored.rounded(module.table(records))
        write(records, folder / "records.csv")
        failed = "error" in records and bool((records["error"].fillna("") != "").any())
        seeds = {cell.seed for cell in cells if hasattr(cell, "seed")}
        seconds = cached_seconds(cells, folder / "cells", digest=self.digest)
        stored.write(
            folder,
            final,
            stored.Provenance(
                command=self.command(smoke=smoke, only=only),
                cells=len(cells),
                seeds=len(seeds),
                seconds=round(sum(each for each in seconds if each is not None), 3),
                cores=processes,
                commit=origin.commit(),
                versions=origin.versions(),
                complete=not only and not failed,
            ),
        )
        (folder / "table.md").write_text(module.markdown(final), encoding="utf-8")
        drawn.draw(folder, module.pictures(final) if hasattr(module, "pictures") else [], images=not smoke)
        return final

    def command(self, *, smoke: bool = False, only: str = "") -> str:
        """What computes it on the command line."""
        options = [*(["--smoke"] if smoke else []), *(["--only", only] if only else [])]
        return shlex.join(["fedbary", "reproduce", self.name, *options])


EXPERIMENTS = (
    Experiment("toy", "Three Gaussians: the federated barycenter beside one with access to the data, by round."),
    Experiment("bounds", "Theorem 1 along the rounds, and Theorem 2's bound of the validation loss."),
    Experiment("support-rounds", "Distance and order of clients by the number of points and of rounds."),
    Experiment("no-validation", "Without validation rows: how far a noisy client of five stands out."),
    Experiment("detection", "How well each method finds spoilt rows, whatever the noise and the label skew."),
    Experiment("gradients", "Rows with a positive gradient, and spoilt rows among them: the paper's five variants."),
    Experiment("cards", "What the cards of 5 to 50 spoilt clients find, beside 100 to 2000 clean reference rows."),
    Experiment("verdict", "How often the verdict sees the bad client of five, whatever is wrong, and no other."),
    Experiment("sites", "Whether clients that merely differ are left in peace, and bad ones among them are seen."),
    Experiment("accuracy", "How close each protocol comes to the exact distance, for few and for many points."),
    Experiment("ranking", "How well distance, excess and quality order clients by their share of spoilt rows."),
    Experiment(
        "five-cases",
        "The paper's five cases: every method that trains, and our protocols, beside exactFed.",
        client_methods=True,
    ),
    Experiment(
        "fidelity",
        "Every method beside retraining on all coalitions, in ten kinds of federations.",
        client_methods=True,
    ),
    Experiment("robustness", "What up to four lying clients of ten do to the others, with robust weights and without."),
    Experiment("worth", "How much of the worth is left with guarded, narrow and private cards."),
    Experiment(
        "timing",
        "The paper's Table 2: how long methods take for 5 to 100 clients, as ratios to ours.",
        alone=True,
        client_methods=True,
    ),
    Experiment("boost", "How much better a federated model becomes without flagged rows, or without bad clients."),
    Experiment(
        "point-removal", "Accuracy as a client's rows are left out, those that a method likes least or most first."
    ),
    Experiment("privacy", "How much of the ranking is left for which ε and how many rows, and what a row risks."),
    Experiment("frontier", "What cards with ε find, by rows, coordinates and ε: wrong labels, and shares of them."),
    Experiment("empirical-epsilon", "The ε that an attacker measures in a game about one row, beside the claimed one."),
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
    raise SettingsError(
        "research.no-such-experiment", name=name, guess=did_you_mean(name, there), known=", ".join(there)
    )
