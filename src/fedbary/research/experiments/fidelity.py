"""How well every method agrees with retraining: the paper's five cases, and five in which clients depend on each other.

Two truths, because FedAvg is not the only way to train: exactFed retrains FedAvg on every coalition, *pooled* fits a
logistic regression to the coalition's rows in one place. Beside each stands its ceiling, the same trained models judged
by 1000 other test rows: nobody can be expected to agree better than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data import Table
from fedbary.research.comparison import PROTOCOL_METHODS, agreement, protocol_scores
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import split_dataset
from fedbary.research.experiments.scenarios import SCENARIOS, scenario
from fedbary.research.experiments.tables import mean_and_spread, pivots
from fedbary.research.experiments.trained import Trained
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("cifar10-embeddings", "fashion-mnist")
CASES = ("case 1", "case 2", "case 3", "case 4", "case 5", *SCENARIOS)
EQUAL = "equal split"
# Neither is a method: they say how much of a truth can be known.
CEILINGS = ("exactfed ceiling", "pooled ceiling")
METRICS = (
    "spearman", "kendall", "share_error", "pooled_spearman", "pooled_kendall", "pooled_share_error", "seconds",
    "evaluations",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """All methods on one draw of one case."""

    dataset: str
    clients: int
    case: str
    seed: int
    rows: int = 500
    test_rows: int = 1000
    rounds: int = 10

    def __str__(self) -> str:
        return f"{self.dataset}, N = {self.clients}, {self.case}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """All cells, the quick ones first; for a smoke test two of digits."""
    if smoke:
        return [Cell("digits", clients, case, 0, 60, 150, 2) for clients, case in ((3, "case 4"), (5, "complement"))]
    return [
        Cell(dataset, clients, case, seed)
        for clients, seed, case, dataset in product((5, 10), range(5), CASES, DATASETS)
    ]


def compute(cell: Cell) -> list[Record]:
    """Agreement of every method with both truths, and what it costs."""
    data = split_dataset(cell.dataset, 2 * cell.test_rows, seed=cell.seed)
    test, other = fb.partitions.by_size(data.reference, [cell.test_rows] * 2, seed=cell.seed).clients.values()
    tables = drawn(data.pool, cell)
    trained = Trained(tables, test, other, rounds=cell.rounds, seed=cell.seed)
    pooled, pooled_ceiling = trained.pooled()
    scores = {"exactfed": trained.exactfed, CEILINGS[0]: trained.ceiling, "pooled": pooled, CEILINGS[1]: pooled_ceiling}
    scores |= trained.others()
    engine = fb.LocalEngine(workers=1)
    scores |= {name: protocol_scores(name, tables, test, seed=cell.seed, engine=engine) for name in PROTOCOL_METHODS}
    equal = np.full(cell.clients, 1.0 / cell.clients)
    scores[EQUAL] = ClientScores(EQUAL, tuple(tables), equal, np.zeros(cell.clients))
    records = []
    for name, found in scores.items():
        record: Record = {"method": name}
        if name not in (*CEILINGS, EQUAL):
            record |= {"seconds": found.seconds, "evaluations": found.evaluations}
        if name not in ("exactfed", CEILINGS[1]):
            record |= agreement(found, trained.exactfed)
        if name not in ("pooled", CEILINGS[0]):
            record |= {f"pooled_{key}": number for key, number in agreement(found, pooled).items()}
        records.append(record)
    return records


def drawn(pool: Table, cell: Cell) -> dict[str, Table]:
    """The clients of a cell."""
    if cell.case in SCENARIOS:
        return scenario(pool, cell.case, cell.clients, seed=cell.seed)
    number, rows = int(cell.case.removeprefix("case ")), cell.rows * cell.clients
    return fb.partitions.paper_case(pool, number, clients=cell.clients, rows=rows, seed=cell.seed).clients


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; the case ``mean`` is over all cases as well."""
    import pandas as pd

    keys = ["dataset", "clients", "case", "method"]
    return pd.concat(
        [mean_and_spread(records.assign(case="mean"), keys, METRICS), mean_and_spread(records, keys, METRICS)],
        ignore_index=True,
    )


def markdown(final: pd.DataFrame) -> str:
    """Agreement and cost of every method: the means over all cases first, then case by case."""
    named = final.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)]
    )
    overall = named[named["case"] == "mean"].assign(
        spearman_sd=np.nan, pooled_spearman_sd=np.nan, share_error_sd=np.nan
    )
    overall = overall.assign(pooled_share_error_sd=np.nan, seconds_sd=np.nan, everything="All cases: means")
    titles = {
        "spearman": "Spearman with exactFed",
        "pooled_spearman": "Spearman with pooled regression",
        "share_error": "mean absolute difference of shares, exactFed",
        "pooled_share_error": "mean absolute difference of shares, pooled regression",
        "seconds": "seconds (one thread; without the one training that is logged)",
    }
    digits = dict.fromkeys(METRICS, 2) | {"share_error": 3, "pooled_share_error": 3, "evaluations": 0}
    parts = [
        "# Fidelity\n",
        "Against the Shapley value of FedAvg retrained on every coalition (exactFed), and of a logistic regression "
        "fitted to every coalition's rows in one place (pooled). A ceiling is a truth against itself on other test "
        "rows, which methods that share its test rows can exceed. Cases 1 to 5 are the paper's with 500 rows a client; "
        "complement, pairs, sizes, flips and mixed are those of `experiments/scenarios.py`. In case 1 all clients are "
        "alike: there is no order to find. Protocols are timed with all they do, valuing every row included.\n",
        pivots(overall, by="everything", down=["method"], across="federation", titles=titles, digits=digits),
        pivots(
            named[named["case"] != "mean"],
            by="federation",
            down=["method"],
            across="case",
            titles=titles
            | {
                "kendall": "Kendall with exactFed",
                "pooled_kendall": "Kendall with pooled regression",
                "evaluations": "coalitions trained (exactFed, pooled, LOO, DataSV), models evaluated, or played",
            },
            digits=digits,
        ),
    ]
    return "\n".join(parts).rstrip() + "\n"
