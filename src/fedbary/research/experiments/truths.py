"""What retraining says of the federations of `fidelity`: the truths that other methods are measured by.

Two of them, because FedAvg is not the only way to train: exactFed retrains FedAvg on every coalition, *pooled* fits a
logistic regression to the coalition's rows in one place. Each comes with its ceiling, the same trained models judged
by 1000 other test rows. Computing them takes hours of one core, so ``truths.csv`` beside this file is what
``fedbary reproduce truths`` wrote.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data import Table
from fedbary.research.comparison.measures import rank_correlations
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import split_dataset
from fedbary.research.experiments.scenarios import SCENARIOS, scenario
from fedbary.research.experiments.tables import markdown_table, number
from fedbary.research.experiments.trained import Trained, draw_seed
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("cifar10-embeddings", "fashion-mnist")
CASES = ("case 1", "case 2", "case 3", "case 4", "case 5", *SCENARIOS)
CEILING = " ceiling"
TRUTHS = ("exactfed", "exactfed" + CEILING, "pooled", "pooled" + CEILING)
FILE = Path(__file__).with_name("truths.csv")
# Values are sums of shares of 1000 rows: what differs by less is equal.
_DIGITS = 9


@dataclass(frozen=True)
class Cell:
    """One draw of one case."""

    dataset: str
    clients: int
    case: str
    seed: int
    rows: int = 500
    test_rows: int = 1000
    rounds: int = 10

    def __str__(self) -> str:
        return f"{self.dataset}, N = {self.clients}, {self.case}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """The clients of a cell, the rows that judge, and others that judge the ceilings."""

    clients: dict[str, Table]
    test: Table
    other: Table

    def trained(self, cell: Cell) -> Trained:
        """Where everything that trains is computed."""
        return Trained(
            self.clients, self.test, self.other, rounds=cell.rounds, seed=cell.seed, sampling=draw_seed(cell)
        )


def cells(smoke: bool) -> list[Cell]:
    """All cells, the quick ones first; for a smoke test two of digits."""
    if smoke:
        return [Cell("digits", clients, case, 0, 60, 150, 2) for clients, case in ((3, "case 4"), (5, "complement"))]
    return [
        Cell(dataset, clients, case, seed)
        for clients, seed, case, dataset in product((5, 10), range(5), CASES, DATASETS)
    ]


def draw(cell: Cell) -> Drawn:
    """The federation of a cell."""
    data = split_dataset(cell.dataset, 2 * cell.test_rows, seed=cell.seed)
    test, other = fb.partitions.by_size(data.reference, [cell.test_rows] * 2, seed=cell.seed).clients.values()
    if cell.case in SCENARIOS:
        return Drawn(scenario(data.pool, cell.case, cell.clients, seed=cell.seed), test, other)
    number, rows = int(cell.case.removeprefix("case ")), cell.rows * cell.clients
    clients = fb.partitions.paper_case(data.pool, number, clients=cell.clients, rows=rows, seed=cell.seed).clients
    return Drawn(clients, test, other)


def truths(cell: Cell, drawn: Drawn) -> dict[str, ClientScores]:
    """Both truths and their ceilings: those in the file, or computed."""
    return stored(cell) or computed(drawn.trained(cell))


def computed(trained: Trained) -> dict[str, ClientScores]:
    """Both truths and their ceilings, by training all coalitions."""
    return dict(zip(TRUTHS, (trained.exactfed, trained.ceiling, *trained.pooled()), strict=True))


def stored(cell: Cell) -> dict[str, ClientScores] | None:
    """What the file has of a cell; None if it is not there."""
    found = _stored().get((cell.dataset, cell.clients, cell.case, cell.seed))
    if found is None or cell != Cell(cell.dataset, cell.clients, cell.case, cell.seed):
        return None
    names = tuple(found["client"])
    return {
        name: ClientScores(
            name,
            names,
            found[name].to_numpy(dtype=float),
            np.zeros(len(names)),
            evaluations=2**cell.clients,
            seconds=float(found[f"{name.removesuffix(CEILING)} seconds"].iloc[0]),
        )
        for name in TRUTHS
    }


def compute(cell: Cell) -> list[Record]:
    """A record for every client."""
    found = computed(draw(cell).trained(cell))
    seconds = {f"{name} seconds": round(found[name].seconds, 3) for name in ("exactfed", "pooled")}
    return [
        {"client": client, **{name: round(float(found[name].values[place]), _DIGITS) for name in TRUTHS}, **seconds}
        for place, client in enumerate(found["exactfed"].clients)
    ]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """The file's content; cells that failed are not in it."""
    keys = ["dataset", "clients", "case", "seed", "client"]
    there = records[records["client"].notna()] if "client" in records else records.assign(client="").iloc[:0]
    return there.reindex(columns=[*keys, *TRUTHS, "exactfed seconds", "pooled seconds"]).reset_index(drop=True)


def markdown(final: pd.DataFrame) -> str:
    """How far the truths agree with themselves on other test rows, and with each other."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for key, part in final.groupby(["dataset", "clients", "case", "seed"], sort=False):
        dataset, clients, case, _ = map(str, key)
        pairs = ((TRUTHS[0], TRUTHS[1]), (TRUTHS[2], TRUTHS[3]), (TRUTHS[0], TRUTHS[2]))
        agreed = [rank_correlations(*(part[name].to_numpy(dtype=float) for name in pair))["spearman"] for pair in pairs]
        found.setdefault((f"{dataset}, N = {clients}", case), []).append(agreed)
    header = ("federation", "case", "exactFed with its ceiling", "pooled with its ceiling", "exactFed with pooled")
    rows = [[*names, *(number(mean, digits=2) for mean in np.mean(each, axis=0))] for names, each in found.items()]
    about = "Spearman correlations, means over seeds. `truths.csv` of the package is this experiment's `table.csv`."
    return f"# Truths\n\n{about}\n\n{markdown_table(header, rows)}\n"


@lru_cache(maxsize=1)
def _stored() -> dict[tuple[str, int, str, int], pd.DataFrame]:
    import pandas as pd

    if not FILE.is_file():
        return {}
    keys = ["dataset", "clients", "case", "seed"]
    found = {}
    for key, part in pd.read_csv(FILE).groupby(keys, sort=False):
        dataset, clients, case, seed = map(str, key)
        found[dataset, int(clients), case, int(seed)] = part
    return found
