"""The paper's five cases: all client-level methods beside exactFed, and beside our protocols.

For each data set, number of clients, case and seed, FedAvg is trained once and logged; exactFed trains logistic
regression on every coalition. The truth is exactFed's Shapley value on 1000 test rows; the *ceiling* is the same
coalitions' Shapley value on 1000 other test rows: nobody can be expected to agree better than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.research.comparison import agreement, protocol_scores
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import split_dataset
from fedbary.research.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary.research.experiments.trained import Trained

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("cifar10-embeddings", "fashion-mnist")
CASES = {
    1: "1 same",
    2: "2 different classes",
    3: "3 different sizes",
    4: "4 noisy labels",
    5: "5 noisy features",
}
PROTOCOLS = ("sketch", "interpolation", "cards", "triangle")
CEILING, EQUAL = "ceiling", "equal split"
METRICS = ("spearman", "kendall", "share_error", "seconds", "evaluations")


@dataclass(frozen=True)
class Cell:
    """All methods on one draw of one case."""

    dataset: str
    clients: int
    case: int
    seed: int
    rows: int = 500
    test_rows: int = 1000
    rounds: int = 10

    def __str__(self) -> str:
        return f"{self.dataset}, N = {self.clients}, case {self.case}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """All cells; for a smoke test two cases of digits with three clients."""
    if smoke:
        return [Cell("digits", 3, case, 0, rows=60, test_rows=200, rounds=2) for case in (2, 4)]
    return [Cell(*choice) for choice in product(DATASETS, (5, 10), CASES, range(3))]


def compute(cell: Cell) -> list[Record]:
    """Scores of every method: how they agree with exactFed, their shares, and what they cost."""
    data = split_dataset(cell.dataset, 2 * cell.test_rows, seed=cell.seed)
    test, other = fb.partitions.by_size(data.reference, [cell.test_rows] * 2, seed=cell.seed).clients.values()
    tables = fb.partitions.paper_case(
        data.pool, cell.case, clients=cell.clients, rows=cell.rows * cell.clients, seed=cell.seed
    ).clients
    trained = Trained(tables, test, other, rounds=cell.rounds, seed=cell.seed)
    scores = {"exactfed": trained.exactfed, CEILING: trained.ceiling, **trained.others()}
    engine = fb.LocalEngine(workers=1)
    scores |= {name: protocol_scores(name, tables, test, seed=cell.seed, engine=engine) for name in PROTOCOLS}
    equal = np.full(cell.clients, 1.0 / cell.clients)
    scores[EQUAL] = fb.ClientScores(EQUAL, tuple(tables), equal, np.zeros(cell.clients))
    records = []
    for name, found in scores.items():
        record: Record = {"method": name, "seconds": found.seconds, "evaluations": found.evaluations}
        record |= {f"share_{i + 1}": float(share) for i, share in enumerate(found.shares)}
        record |= agreement(found, trained.exactfed) if name != "exactfed" else {}
        records.append(record | ({"seconds": np.nan, "evaluations": np.nan} if name in (CEILING, EQUAL) else {}))
    return records


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of agreement, cost and shares."""
    shares = sorted((c for c in records.columns if c.startswith("share_") and c != "share_error"), key=len)
    return mean_and_spread(records, ["dataset", "clients", "case", "method"], [*METRICS, *shares])


def markdown(final: pd.DataFrame) -> str:
    """Agreement and cost of every method, and the shares behind them."""
    named = final.assign(
        case=[CASES[case] for case in final["case"]],
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)],
    )
    parts = [
        "# The paper's five cases\n",
        "Against exactFed (Shapley value of a logistic regression retrained on every coalition); the ceiling is "
        "exactFed against itself on other test rows, which methods that share its test rows can exceed. In case 1 all "
        "clients are alike: there is no order to find, and the share error is what counts. Mean ± standard deviation "
        "over seeds.\n",
        pivots(
            named,
            by="federation",
            down=["method"],
            across="case",
            titles={
                "spearman": "Spearman correlation with exactFed",
                "kendall": "Kendall correlation with exactFed",
                "share_error": "mean absolute difference of shares",
                "seconds": "seconds (one thread; without the one training that is logged)",
                "evaluations": "coalitions trained (exactFed, LOO, DataSV) or models evaluated",
            },
            digits={"spearman": 2, "kendall": 2, "share_error": 3, "seconds": 2, "evaluations": 0},
        ),
        "## Shares\n",
    ]
    for (federation, case), group in named.groupby(["federation", "case"], sort=False):
        columns = [c for c in named.columns if _is_share(c) and group[c].notna().any()]
        rows = [
            [str(row["method"]), *(number(100 * row[c], digits=1) for c in columns)]
            for row in group.to_dict("records")
            if row["method"] != CEILING
        ]
        header = ["share in %", *(c.removeprefix("share_") for c in columns)]
        parts.append(f"**{federation}, case {case}**\n\n{markdown_table(header, rows)}\n")
    return "\n".join(parts).rstrip() + "\n"


def _is_share(column: str) -> bool:
    return column.removeprefix("share_").isdecimal()
