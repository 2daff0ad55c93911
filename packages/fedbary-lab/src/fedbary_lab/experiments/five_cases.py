"""The paper's five cases: all client-level methods beside exactFed, and beside our protocols.

For each data set, number of clients, case and seed, FedAvg is trained once and logged; exactFed trains logistic
regression on every coalition. The truth is exactFed's Shapley value on 1000 test rows; the *ceiling* is the same
coalitions' Shapley value on 1000 other test rows: nobody can be expected to agree better than that. In three cases more
is known than exactFed says: which client has more rows, and which has more noise.

Case 5 is the paper's, N(0, 1) added to the features as they are, pixels from 0 to 1 or embeddings, in 0 to 20 % of a
client's rows; and beside it noise of one standard deviation of the data, on pixels a third to a quarter of that. With
ten clients there are two cases of one data set, without DataSV, whose coalitions train a few at a time, and without the
published setting of interpolation, whose transports are as large as the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data.corruptions import add_noise
from fedbary.data.table import Table
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison import agreement, protocol_scores
from fedbary_lab.comparison.measures import rank_correlations
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary_lab.experiments.trained import Trained, draw_seed

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

DATASETS = {"cifar10-images": "images", "cifar10-embeddings": "embeddings", "fashion-mnist": "fashion"}
SIZES, LABELS, FEATURES, ONE_SIGMA = "3 different sizes", "4 noisy labels", "5 noisy features", "5 with noise of 1 σ"
CASES = ("1 same", "2 different classes", SIZES, LABELS, FEATURES, ONE_SIGMA)
NOISY = (LABELS, FEATURES, ONE_SIGMA)
PROTOCOLS = ("sketch", "interpolation", "published", "cards", "worth", "triangle")
CEILING, EQUAL = "ceiling", "equal split"
# The methods that the paper draws; its FedShapley is MR here.
DRAWN = ("exactfed", "mr", "or", "gtg", "gtg-ti", "gtg-tib", "datasv", *PROTOCOLS[:5])
# The paper's approximations, which are said to invert the order in case 5.
APPROXIMATIONS = ("mr", "or", "gtg", "gtg-ti", "gtg-tib", "datasv")
LEFT_OUT = {10: ("datasv", "published")}
METRICS = ("spearman", "kendall", "share_error", "share_range", "known_order", "seconds", "evaluations")


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
        return f"{self.dataset}, N = {self.clients}, case {self.case}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """All cells; for a smoke test two cases of digits with three clients."""
    if smoke:
        return [Cell("digits", 3, case, 0, rows=60, test_rows=200, rounds=2) for case in (LABELS, FEATURES)]
    five = [Cell(*choice) for choice in product(DATASETS, (5,), CASES, range(3))]
    ten = [Cell(*choice) for choice in product(["fashion-mnist"], (10,), (LABELS, FEATURES), range(3))]
    return five + ten


def compute(cell: Cell) -> list[Record]:
    """Scores of every method: how they agree with exactFed and with what is known, their shares, and what they cost."""
    data = split_dataset(cell.dataset, 2 * cell.test_rows, seed=cell.seed)
    test, other = fb.partitions.by_size(data.reference, [cell.test_rows] * 2, seed=cell.seed).clients.values()
    tables = clients_of(data.pool, cell)
    sampling = draw_seed(cell)
    trained = Trained(tables, test, other, rounds=cell.rounds, seed=cell.seed, sampling=sampling)
    left_out = LEFT_OUT.get(cell.clients, ())
    scores = {"exactfed": trained.exactfed, CEILING: trained.ceiling, **trained.others(*left_out)}
    engine = fb.LocalEngine(workers=1)
    for name in PROTOCOLS:
        if name not in left_out:
            scores[name] = protocol_scores(name, tables, test, seed=sampling, engine=engine)
    equal = np.full(cell.clients, 1.0 / cell.clients)
    scores[EQUAL] = ClientScores(EQUAL, tuple(tables), equal, np.zeros(cell.clients))
    records = []
    for name, found in scores.items():
        record: Record = {"method": name, "seconds": found.seconds, "evaluations": found.evaluations}
        record |= {f"share_{i + 1}": float(share) for i, share in enumerate(found.shares)}
        record |= {"share_range": float(np.ptp(found.shares)), "known_order": known_order(found, cell.case)}
        record |= agreement(found, trained.exactfed) if name != "exactfed" else {}
        records.append(record | ({"seconds": np.nan, "evaluations": np.nan} if name in (CEILING, EQUAL) else {}))
    return records


def clients_of(pool: Table, cell: Cell) -> Mapping[str, Table]:
    """The clients of a case; those of case 5 have N(0, 1), or noise of one standard deviation, in some rows."""
    rows = cell.rows * cell.clients
    if cell.case != FEATURES:
        return fb.partitions.paper_case(
            pool, int(cell.case[0]), clients=cell.clients, rows=rows, seed=cell.seed
        ).clients
    clean = fb.partitions.paper_case(pool, 1, clients=cell.clients, rows=rows, seed=cell.seed).clients
    rng = np.random.default_rng([cell.seed, 5])
    shares = np.linspace(0.0, 0.2, cell.clients).tolist()
    return {
        name: add_noise(table, share, sigma=1.0 / spread_of(table), seed=rng)[0]
        for (name, table), share in zip(clean.items(), shares, strict=True)
    }


def spread_of(table: Table) -> float:
    """The standard deviation by which `add_noise` multiplies: of a table with one block of features."""
    (block,) = table.columns.values()
    return float(np.sqrt(np.mean(np.var(block, axis=0, dtype=np.float64))))


def known_order(scores: ClientScores, case: str) -> float:
    """Spearman correlation with what is known: more rows first, less noise first; NaN in cases 1 and 2."""
    if case not in (SIZES, *NOISY):
        return float("nan")
    places = np.arange(len(scores.clients), dtype=float)
    return rank_correlations(scores.values, places if case == SIZES else -places)["spearman"]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds of agreement, cost and shares."""
    shares = sorted((c for c in records.columns if _is_share(c)), key=len)
    return mean_and_spread(records, ["dataset", "clients", "case", "method"], [*METRICS, *shares])


def facts(final: pd.DataFrame) -> dict[str, float]:
    """What pages quote of five clients: ``case4_order_fashion_gtg_ti``, ``case1_range_images_sketch``, ….

    ``case5`` is the paper's N(0, 1), ``case5_sigma`` the noise of one standard deviation. ``order`` is the correlation
    with the known order, ``range`` the largest share minus the smallest, ``spearman`` and ``error`` (of shares) are
    against exactFed. ``approximations`` is the mean of the methods that the paper compares with.
    """
    found: dict[str, float] = {}
    metrics = {"known_order": "order", "share_range": "range", "spearman": "spearman", "share_error": "error"}
    for (dataset, case), group in final[final["clients"] == 5].groupby(["dataset", "case"], sort=False):
        key = f"case{str(case)[0]}" + ("_sigma" if case == ONE_SIGMA else "")
        where = DATASETS.get(str(dataset), str(dataset))
        for metric, short in metrics.items():
            known = group.set_index("method")[metric].dropna()
            theirs = known[known.index.isin(APPROXIMATIONS)]
            found |= {f"{key}_{short}_{where}_{_snake(method)}": float(known[method]) for method in known.index}
            if len(theirs) and metric == "known_order":
                found[f"{key}_order_{where}_approximations"] = float(theirs.mean())
                found[f"{key}_order_{where}_best_approximation"] = float(theirs.max())
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """The paper's scatter plots: each client's share by each method, a panel for each case, a picture per data set."""
    import pandas as pd

    from fedbary_lab.plots import scatter

    drawn = []
    for dataset, group in final[(final["clients"] == 5) & final["method"].isin(DRAWN)].groupby("dataset", sort=False):
        lines = [
            {"share": 100 * row[c], "method": row["method"], "client": f"client {c[6:]}", "case": row["case"]}
            for row in group.to_dict("records")
            for c in final.columns
            if _is_share(c) and np.isfinite(row[c])
        ]
        drawn.append(
            scatter(
                pd.DataFrame(lines, columns=["share", "method", "client", "case"]),
                x="share",
                y="method",
                by="client",
                panel="case",
                labels={"share": "share in %"},
                name=f"five-cases-{DATASETS.get(str(dataset), str(dataset))}",
                title=f"Share of each of five clients by each method, case by case: {dataset}, mean over seeds.",
            )
        )
    return drawn


def markdown(final: pd.DataFrame) -> str:
    """What the paper claims, agreement and cost of every method, and the shares behind them."""
    named = final.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)]
    )
    parts = [
        "# The paper's five cases\n",
        "Against exactFed (Shapley value of a logistic regression retrained on every coalition); the ceiling is "
        "exactFed against itself on other test rows, which methods that share its test rows can exceed. In case 1 all "
        "clients are alike: there is no order to find, and the share error is what counts. All clients train in all "
        "rounds, so that FedShapley and ComFedSV are MR and have no line of their own. Case 5 adds N(0, 1) to the "
        "features of 0 to 20 % of a client's rows, as in the paper (pixels from 0 to 1; embeddings as they are), and "
        "once more noise of one standard deviation. *Published* is interpolation as the paper's code has it: as many "
        "points as rows, t = 0.5, raw numbers. Cards do not look at the reference. Ten clients: the noisy cases of one "
        "data set, without DataSV and *published*, which take longer than all others together. Mean ± standard "
        "deviation over seeds.\n",
        *_summary(named),
        pivots(
            named,
            by="federation",
            down=["method"],
            across="case",
            titles={
                "known_order": "Spearman correlation with what is known: more rows first (case 3), less noise first",
                "spearman": "Spearman correlation with exactFed",
                "kendall": "Kendall correlation with exactFed",
                "share_error": "mean absolute difference of shares",
                "share_range": "largest share minus smallest",
                "seconds": "seconds (one thread; without the one training that is logged)",
                "evaluations": "coalitions trained (exactFed, LOO, DataSV) or models evaluated",
            },
            digits={
                **dict.fromkeys(("known_order", "spearman", "kendall", "seconds"), 2),
                **{"share_error": 3, "share_range": 3, "evaluations": 0},
            },
        ),
        "## Shares\n",
    ]
    for (federation, case), group in named.dropna(subset="method").groupby(["federation", "case"], sort=False):
        columns = [c for c in named.columns if _is_share(c) and group[c].notna().any()]
        rows = [
            [str(row["method"]), *(number(100 * row[c], digits=1) for c in columns)]
            for row in group.to_dict("records")
            if row["method"] != CEILING
        ]
        header = ["share in %", *(c.removeprefix("share_") for c in columns)]
        parts.append(f"**{federation}, case {case}**\n\n{markdown_table(header, rows)}\n")
    return "\n".join(parts).rstrip() + "\n"


def _summary(named: pd.DataFrame) -> list[str]:
    """One table per federation: a column for each of the paper's claims."""
    claims = (
        ("case 1: range of shares (paper: all about 20 %)", CASES[0], "share_range"),
        ("case 2: Spearman with exactFed (paper: as exactFed and MR)", CASES[1], "spearman"),
        ("case 3: range of shares (paper: trivial but for GTG)", SIZES, "share_range"),
        ("case 4: order of noise (paper: right)", LABELS, "known_order"),
        ("case 5: order of noise (paper: right, others' inverse)", FEATURES, "known_order"),
        ("case 5, 1 σ: order of noise", ONE_SIGMA, "known_order"),
    )
    parts = ["## What the paper claims of each case\n"]
    for federation, group in named.dropna(subset="method").groupby("federation", sort=False):
        there = [claim for claim in claims if claim[1] in set(group["case"])]
        shown = {
            (row["method"], row["case"]): {metric: number(row[metric], digits=2) for metric in METRICS}
            for row in group.to_dict("records")
        }
        rows = [
            [str(method), *(shown.get((method, case), {}).get(metric, "–") for _, case, metric in there)]
            for method in dict.fromkeys(group["method"])
        ]
        parts.append(f"**{federation}**\n\n{markdown_table(['method', *(said for said, *_ in there)], rows)}\n")
    return parts


def _snake(name: object) -> str:
    return str(name).replace("-", "_").replace(" ", "_")


def _is_share(column: str) -> bool:
    return column.removeprefix("share_").isdecimal()
