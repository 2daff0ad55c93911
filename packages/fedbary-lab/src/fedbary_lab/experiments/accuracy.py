"""How close each protocol comes to the exact distance, for S from 10 points to one per row.

The guards are lifted (``allow_reconstruction``, ``min_group=1``) to see the whole range; in a federation S is at
most rows/``min_group``. The truth is the exact distance of all rows in the space that the protocol itself used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import mean_and_spread, pivots

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

ROWS = {"digits": 600, "fashion-mnist": 1000, "cifar10-embeddings": 1000}
SUPPORTS = (10, 30, 100, 300)
PROTOCOLS = ("interpolation, t = 0.5", "interpolation, random t", "triangle", "sketch")
METRICS = ("relative_error", "width", "coverage")


@dataclass(frozen=True)
class Cell:
    """One protocol with one number of points on one pair of samples."""

    dataset: str
    rows: int
    seed: int
    protocol: str
    support: int

    def __str__(self) -> str:
        return f"{self.dataset}, seed {self.seed}, {self.protocol}, S = {self.support}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × seeds × protocols × numbers of points; the smoke test has 60 digits."""
    if smoke:
        return [Cell("digits", 60, 0, protocol, support) for protocol in PROTOCOLS for support in (10, 60)]
    return [
        Cell(dataset, rows, seed, protocol, support)
        for dataset, rows in ROWS.items()
        for seed in range(3)
        for protocol in PROTOCOLS
        for support in (*SUPPORTS, rows)
    ]


def compute(cell: Cell) -> list[Record]:
    """The estimate and its interval against the exact distance."""
    data = split_dataset(cell.dataset, cell.rows, seed=cell.seed)
    client = data.pool.take(data.rows(cell.rows, np.inf, seed=cell.seed))
    result = fb.value(
        {"client": client},
        data.reference,
        protocol=_protocol(cell),
        seed=cell.seed,
        engine=fb.LocalEngine(workers=1),
    )
    if result.failed:
        return [{"error": result.failed["client"]}]
    assert result.schema is not None
    P, Q = fb.embed(client, result.schema), fb.embed(data.reference, result.schema)
    exact = fb.solve(P.points, Q.points, P.weights, Q.weights).distance
    distance, low, high = (float(result.clients[name][0]) for name in ("distance", "low", "high"))
    record: Record = {"exact": exact, "distance": distance, "relative_error": distance / exact - 1.0}
    if np.isfinite(low) and np.isfinite(high):
        slack = 1e-9 * exact
        record |= {"low": low, "high": high, "width": (high - low) / exact}
        record["coverage"] = float(low - slack <= exact <= high + slack)
    return [record]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; S = rows is called m."""
    support = records["support"].astype(str).where(records["support"] < records["rows"], "m")
    return mean_and_spread(records.assign(S=support), ["dataset", "S", "protocol"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """One table per data set and metric: S down, protocols across."""
    titles = {
        "relative_error": "estimate / exact distance − 1",
        "width": "width of the certified interval / exact distance",
        "coverage": "share of runs in which the interval holds the exact distance",
    }
    return "# Accuracy of the distance\n\nMean ± standard deviation over seeds.\n\n" + pivots(
        final, by="dataset", down=["S"], across="protocol", titles=titles
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``error_sketch_100_low`` and ``…_high``: relative errors over data sets; ``coverage_least`` of all intervals."""
    found = {"coverage_least": float(final["coverage"].min())}
    for (protocol, support), group in final.groupby(["protocol", "S"], sort=False):
        errors = group["relative_error"]
        found[fact_name("error", protocol, support, "low")] = float(errors.min())
        found[fact_name("error", protocol, support, "high")] = float(errors.max())
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """The relative error against the number of points."""
    from fedbary_lab.plots import curves

    shown = final[["dataset", "S", "protocol", "relative_error"]].dropna().reset_index(drop=True)
    labels = {"S": "number of points S (m: as many as rows)", "relative_error": "estimate / exact distance − 1"}
    title = "How close each protocol comes to the exact distance."
    return [curves(shown, x="S", y="relative_error", by="protocol", panel="dataset", title=title, labels=labels)]


def _protocol(cell: Cell) -> Any:
    from fedbary_lab.triangle import Triangle

    if cell.protocol == "sketch":
        return fb.Sketch(support=cell.support, min_group=1)
    if cell.protocol == "triangle":
        return Triangle(support=cell.support, allow_reconstruction=True)
    t = 0.5 if cell.protocol == "interpolation, t = 0.5" else None
    return fb.Interpolation(support=cell.support, t=t, allow_reconstruction=True, tolerance=0.0)
