"""The federations of `fidelity` and `worth`, and what retraining says of them: the truths others are measured by.

Two of them, because FedAvg is not the only way to train: exactFed retrains FedAvg on every coalition, *pooled* fits a
logistic regression to the coalition's rows in one place. Each comes with its ceiling, the same trained models judged
by 1000 other test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import fedbary as fb
from fedbary.data.table import Table
from fedbary.valuation.clients import ClientScores
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.scenarios import SCENARIOS, scenario
from fedbary_lab.experiments.trained import Trained, draw_seed

DATASETS = ("cifar10-embeddings", "fashion-mnist")
CASES = ("case 1", "case 2", "case 3", "case 4", "case 5", *SCENARIOS)
CEILING = " ceiling"
TRUTHS = ("exactfed", "exactfed" + CEILING, "pooled", "pooled" + CEILING)


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
    """All cells, the quick ones first; for a smoke test two of digits.

    Three seeds of all cases with five clients; with ten, whose 1,024 pooled regressions take long, one seed of those
    in which clients depend on each other.
    """
    if smoke:
        return [Cell("digits", clients, case, 0, 60, 150, 2) for clients, case in ((3, "case 4"), (5, "complement"))]
    five = [Cell(dataset, 5, case, seed) for seed, case, dataset in product(range(3), CASES, DATASETS)]
    return five + [Cell(dataset, 10, case, 0) for case, dataset in product(SCENARIOS, DATASETS)]


def draw(cell: Cell) -> Drawn:
    """The federation of a cell."""
    data = split_dataset(cell.dataset, 2 * cell.test_rows, seed=cell.seed)
    test, other = fb.partitions.by_size(data.reference, [cell.test_rows] * 2, seed=cell.seed).clients.values()
    if cell.case in SCENARIOS:
        return Drawn(scenario(data.pool, cell.case, cell.clients, seed=cell.seed), test, other)
    number, rows = int(cell.case.removeprefix("case ")), cell.rows * cell.clients
    clients = fb.partitions.paper_case(data.pool, number, clients=cell.clients, rows=rows, seed=cell.seed).clients
    return Drawn(clients, test, other)


def truths(trained: Trained) -> dict[str, ClientScores]:
    """Both truths and their ceilings, by training all coalitions."""
    return dict(zip(TRUTHS, (trained.exactfed, trained.ceiling, *trained.pooled()), strict=True))
