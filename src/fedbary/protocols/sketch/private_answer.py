"""The differentially private answer: two integers, each with exact noise; the proof is in docs/sketch.md."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from fedbary.data.table import Table
from fedbary.privacy.laplace import release
from fedbary.privacy.row_costs import GRID, row_costs
from fedbary.protocols.sketch.answer import Answer
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.row_points import row_points
from fedbary.space.schema import Schema
from fedbary.transport.integer_flow import integer_flow, whole_masses

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
    """

    nearest: int
    transport: int


def private_answer(table: Table, schema: Schema, sketch: SketchPoints, epsilon: float) -> Answer:
    """ε-differentially private scalars for neighbours that differ in one row, half of ε for each.

    Once the table's columns are there, an answer always comes: should something fail inside, its owner's log says so,
    and the answer is that of a table whose rows are all as far away as can be. The lower end of the interval follows
    from the noisy cost; it is the server's business. This holds for one answer: fresh noise for the same rows costs ε
    again.
    """
    rows = len(table)
    try:
        found = released_sums(table, schema, sketch)
    except Exception:
        logging.getLogger("fedbary.owner").exception("A private answer failed inside; the server got noise instead.")
        found = Sums(nearest=GRID * rows, transport=GRID * rows * units_per_row(rows))
    return noisy_answer(found, rows, sketch, epsilon)


def noisy_answer(found: Sums, rows: int, sketch: SketchPoints, epsilon: float) -> Answer:
    """The sums with noise, as costs per row; all after the noise is post-processing."""
    units = units_per_row(rows)
    transport = release(found.transport, sensitivity=GRID * units, epsilon=epsilon / 2.0)
    nearest = release(found.nearest, sensitivity=GRID, epsilon=epsilon / 2.0)
    cost, noise = (sketch.cap * (number / (GRID * rows * units)) for number in (transport.value, transport.scale))
    relaxed = sketch.cap * (nearest.value / (GRID * rows))
    return Answer(_within(cost, sketch.cap), 0.0, _within(relaxed, sketch.cap), sketch.error, noise)


def released_sums(table: Table, schema: Schema, sketch: SketchPoints) -> Sums:
    """The integers before the noise; equal rows stay apart, and every cost is a function of its own row."""
    costs = row_costs(row_points(table, schema), sketch.points, sketch.cap)
    units = units_per_row(len(table))
    nearest = int(costs.min(axis=1).astype(np.int64).sum())
    return Sums(nearest, integer_flow(costs, units, whole_masses(sketch.weights, len(table) * units)))


def units_per_row(rows: int) -> int:
    """Units of mass of each row; of the public number of rows alone."""
    return max(1, min(_UNITS, _MOST_UNITS // rows))


def _within(number: float, cap: float) -> float:
    return min(max(number, 0.0), cap)
