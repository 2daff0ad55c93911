"""The differentially private answer: a few integers, each with exact noise; the proof is in docs/sketch.md."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbary.data.table import Table
from fedbary.privacy.noise import GRID, release, row_costs
from fedbary.protocols.sketch.answer import Answer
from fedbary.protocols.sketch.private_numbers import PARTS, PublicJudge, RowCounts, count_rows
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.encode import row_points
from fedbary.space.schema import Schema
from fedbary.transport.simplex import integer_flow, whole_masses

# A row is so many units of mass, so that masses of a sketch can be whole numbers of them.
_UNITS = 2**10
# More units than these in all, times the largest cost, would leave the integers that doubles hold.
_MOST_UNITS = 2**32


@dataclass(frozen=True)
class Sums:
    """What is released: integers that one row moves by at most ``GRID``, and by ``GRID`` times its units of mass.

    Attributes
    ----------
    nearest : int
        Σ_l min_s q_ls, q the rows' integer costs.
    transport : int
        The least Σ π_ls·q_ls over plans π in units of mass.
    counts : RowCounts or None
        How many rows are doubted and odd, and how many cells are missing, where the server asks for it.
    """

    nearest: int
    transport: int
    counts: RowCounts | None = None


@dataclass(frozen=True)
class PrivateAnswer:
    """Noisy scalars: those of every answer, and noisy shares of rows and cells where these were asked for."""

    costs: Answer
    shares: Mapping[str, float]


def private_answer(
    table: Table, schema: Schema, sketch: SketchPoints, epsilon: float, judge: PublicJudge | None = None
) -> PrivateAnswer:
    """ε-differentially private scalars for neighbours that differ in one row, all together.

    Once the table's columns are there, an answer always comes: should something fail inside, its owner's log says so,
    and the answer is that of a table whose rows are all as far away as can be. The lower end of the interval follows
    from the noisy cost; it is the server's business. This holds for one answer: fresh noise for the same rows costs ε
    again.
    """
    rows = len(table)
    try:
        found = released_sums(table, schema, sketch, judge)
    except Exception:
        logging.getLogger("fedbary.owner").exception("A private answer failed inside; the server got noise instead.")
        counts = None if judge is None else RowCounts(doubted=0, odd=rows, missing=0)
        found = Sums(nearest=GRID * rows, transport=GRID * rows * units_per_row(rows), counts=counts)
    return PrivateAnswer(noisy_costs(found, rows, sketch, epsilon), noisy_shares(found, rows, schema, epsilon))


def noisy_costs(found: Sums, rows: int, sketch: SketchPoints, epsilon: float) -> Answer:
    """The sums with noise, as costs per row; all after the noise is post-processing."""
    units = units_per_row(rows)
    parts = PARTS if found.counts is not None else {"transport": 1 / 2, "nearest": 1 / 2}
    transport = release(found.transport, sensitivity=GRID * units, epsilon=epsilon * parts["transport"])
    nearest = release(found.nearest, sensitivity=GRID, epsilon=epsilon * parts["nearest"])
    cost, noise = (sketch.cap * (number / (GRID * rows * units)) for number in (transport.value, transport.scale))
    relaxed = sketch.cap * (nearest.value / (GRID * rows))
    return Answer(_within(cost, sketch.cap), 0.0, _within(relaxed, sketch.cap), sketch.error, noise)


def noisy_shares(found: Sums, rows: int, schema: Schema, epsilon: float) -> dict[str, float]:
    """The counts with noise, as shares of rows and of cells."""
    if found.counts is None:
        return {}
    cells = schema.cells
    most = {"doubted": 1, "odd": 1, "missing": cells}
    shares = {}
    for name, sensitivity in most.items():
        noisy = release(getattr(found.counts, name), sensitivity=sensitivity, epsilon=epsilon * PARTS[name])
        shares[name] = _within(noisy.value / (rows * sensitivity), 1.0)
    return shares


def released_sums(table: Table, schema: Schema, sketch: SketchPoints, judge: PublicJudge | None = None) -> Sums:
    """The integers before the noise; equal rows stay apart, and every cost is a function of its own row."""
    points = row_points(table, schema)
    costs = row_costs(points, sketch.points, sketch.cap)
    units, nearest = units_per_row(len(table)), costs.min(axis=1)
    transport = integer_flow(costs, units, whole_masses(sketch.weights, len(table) * units))
    counts = None
    if judge is not None:
        width = schema.feature_width
        by_features = row_costs(points[:width], sketch.points[:, :width], sketch.cap).min(axis=1)
        counts = count_rows(table, schema, judge, nearest, by_features)
    return Sums(int(nearest.astype(np.int64).sum()), transport, counts)


def units_per_row(rows: int) -> int:
    """Units of mass of each row; of the public number of rows alone."""
    return max(1, min(_UNITS, _MOST_UNITS // rows))


def _within(number: float, cap: float) -> float:
    return min(max(number, 0.0), cap)
