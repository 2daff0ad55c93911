"""The paper's Table 3: the distance of one client whose whole set, or one row of it, is there several times.

CIFAR-10, 5,000 rows and 5,000 validation rows. The row is the one with the most negative calibrated gradient. The paper
does not say how often it is copied beside "2 × 5000" and "3 × 5000": here once and twice, and as often as the set has
rows. Published interpolation, whose transports are as large as the data, has 500 rows and 500 validation rows. Cards
compare a client with others, and have no distance of one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary.data.corruptions import repeat_row
from fedbary.data.table import Table
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number
from fedbary_lab.paper import published

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.protocols.messages import Settings

PROTOCOLS: dict[str, Settings] = {
    "sketch": fb.Sketch(),
    "interpolation": fb.Interpolation(),
    "published": published(),
}
ROWS = {"sketch": 5000, "interpolation": 5000, "published": 500}
# What is copied: short names for facts, and what the paper's table says of it.
ONCE, WHOLE = "nothing", {"whole set × 2": 2, "whole set × 3": 3}
ROW = {"one row, 1 copy": 1, "one row, 2 copies": 2, "one row, as many copies as rows": None}
SHORT = {ONCE: "once", "whole set × 2": "whole_2", "whole set × 3": "whole_3"}
SHORT |= dict(zip(ROW, ("row_1", "row_2", "row_all"), strict=True))
PAPER = {
    ONCE: ("copies_whole_1", "copies_row_1"),
    "whole set × 2": ("copies_whole_2",),
    "whole set × 3": ("copies_whole_3",),
    "one row, 1 copy": ("copies_row_2",),
    "one row, 2 copies": ("copies_row_3",),
}
METRICS = ("distance", "ratio", "seconds")


@dataclass(frozen=True)
class Alone:
    """One client's distance by one protocol, with all kinds of copies."""

    dataset: str
    protocol: str
    seed: int
    rows: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.protocol} of {self.rows} rows, seed {self.seed}"


def cells(smoke: bool) -> list[Alone]:
    """Three seeds of every protocol; for a smoke test two protocols on few digits."""
    if smoke:
        return [Alone("digits", protocol, 0, 100) for protocol in ("sketch", "interpolation")]
    return [Alone("cifar10-embeddings", name, seed, ROWS[name]) for name in PROTOCOLS for seed in range(3)]


def compute(cell: Alone) -> list[Record]:
    """The distance without copies and with each kind of them, and what part it is of the first."""
    data = split_dataset(cell.dataset, cell.rows, seed=cell.seed)
    own = data.pool.take(data.rows(cell.rows, np.inf, seed=cell.seed)).replace(ids=None)
    gradients = PROTOCOLS["published" if cell.protocol == "published" else "interpolation"]
    valued = _valued(own, data.reference, gradients, cell.seed)
    row = int(valued.rows("client")["calibrated_gradient"].argmin())
    records: list[Record] = []
    for copied, table in copies(own, row).items():
        started = time.process_time()
        distance = _distance(_valued(table, data.reference, PROTOCOLS[cell.protocol], cell.seed))
        seconds = time.process_time() - started
        before = records[0]["distance"] if records else distance
        records.append({"copied": copied, "distance": distance, "ratio": distance / before, "seconds": seconds})
    return records


def copies(own: Table, row: int) -> Mapping[str, Table]:
    """The client as it is, and with every kind of copies."""
    return (
        {ONCE: own}
        | {name: own.take(np.tile(np.arange(len(own)), times)) for name, times in WHOLE.items()}
        | {name: repeat_row(own, row, len(own) if times is None else times)[0] for name, times in ROW.items()}
    )


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds."""
    return mean_and_spread(records, ["dataset", "protocol", "rows", "copied"], METRICS)


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``distance_whole_2_sketch``, ``ratio_row_1_interpolation``, ``seconds_once_published``, …."""
    return {
        f"{metric}_{SHORT[line['copied']]}_{line['protocol']}": float(line[metric])
        for line in final[final["copied"].isin(list(SHORT))].to_dict("records")
        for metric in METRICS
        if np.isfinite(line[metric])
    }


def markdown(final: pd.DataFrame) -> list[str]:
    """Kinds of copies down, protocols across, the paper's numbers first."""
    parts = [
        "## One client's distance (the paper's Table 3)\n",
        "CIFAR-10 as embeddings, as many validation rows as rows. The row that is copied is the one with the most "
        "negative calibrated gradient. The paper prints two numbers without copies, the first above its column of "
        "whole sets, the second above that of one row, and leaves open how often the row was copied. Published "
        "interpolation has fewer rows: each of its 21 transports is of rows to rows. In interpolation no row may be "
        "more than a fifth of a point that leaves: a client that is mostly one row is too small to be compared (–). "
        "Cards compare clients with each other and have no distance of "
        "one. Distance, and in brackets its part of the one without copies.\n",
    ]
    for dataset, group in final.groupby("dataset", sort=False):
        known = {(line["protocol"], line["copied"]): line for line in group.to_dict("records")}
        protocols = {line["protocol"]: line["rows"] for line in group.to_dict("records")}
        header = ["copied", "paper, 5,000 rows", *(f"{name}, {rows:,.0f} rows" for name, rows in protocols.items())]
        rows = [
            [
                copied,
                " / ".join(f"{SAYS[key]:.2f}" for key in PAPER.get(copied, ())) or "–",
                *(_shown(known.get((name, copied), {})) for name in protocols),
            ]
            for copied in SHORT
        ]
        seconds = (known.get((name, ONCE), {}).get("seconds", np.nan) for name in protocols)
        rows.append(["seconds of one core, nothing copied", "–", *(number(each, digits=1) for each in seconds)])
        parts += [f"**{dataset}**\n", markdown_table(header, rows), ""]
    return parts + errors(final, ["dataset", "protocol"])


def _shown(line: Mapping[Any, Any]) -> str:
    if not np.isfinite(line.get("distance", np.nan)):
        return "–"
    return f"{number(line['distance'], line['distance_sd'], digits=2)} ({line['ratio']:.3f})"


def _valued(own: Table, reference: Table, protocol: Settings, seed: int) -> fb.Valuation:
    return fb.value({"client": own}, reference, protocol=protocol, seed=seed, engine=fb.LocalEngine(workers=1))


def _distance(valued: fb.Valuation) -> float:
    """NaN where the client did not answer."""
    return float(valued.clients["distance"].iloc[0])
