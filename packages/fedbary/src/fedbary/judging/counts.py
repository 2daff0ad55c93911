"""Counts of surprises on a public grid, and the p-values that others' counts give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.groups import Groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Cells of −log v, and of the features' surprise in the same steps.
STEP, CELLS = 0.2, 60
EDGES: Floats = np.linspace(0.0, STEP * CELLS, CELLS + 1)


def cells_of(surprise: Floats) -> Integers:
    """The cell of each surprise; what is beyond the grid is in its last one."""
    return np.clip(np.floor(surprise / STEP + 1e-9), 0, CELLS - 1).astype(np.int64)


def counted(surprise: Floats, *, groups: Groups | None = None) -> Floats:
    """How many surprises lie in each cell; with ``groups``, no cell but an empty one holds fewer different rows.

    Cells of fewer are merged downwards, so that nobody looks more surprising, and what is left in the lowest upwards.
    """
    cells = cells_of(surprise)
    found = np.bincount(cells, minlength=CELLS).astype(float)
    if groups is None:
        return found
    different = np.bincount(cells[groups.first()], minlength=CELLS)
    for cell in range(CELLS - 1, 0, -1):
        if different[cell] < groups.least:
            found[cell - 1] += found[cell]
            different[cell - 1] += different[cell]
            found[cell] = different[cell] = 0
    if found[0] and different[0] < groups.least and found[1:].any():
        found[1 + int(np.flatnonzero(found[1:])[0])] += found[0]
        found[0] = 0.0
    return found


def tail(null: Floats) -> Floats:
    """P-value (1 + Σ count)/(1 + Σ n) of each cell, by counts of rows that are mostly clean."""
    return np.asarray((1.0 + np.cumsum(null[::-1])[::-1]) / (1.0 + null.sum()))


def smooth_surprise(surprise: Floats, null: Floats) -> Floats:
    """−log of the share of null rows that surprise as much: between edges interpolated, beyond the last on and on.

    Unlike p-values it tells any two rows apart, so that rows are ranked by it.
    """
    last = int(np.flatnonzero(null)[-1]) + 1 if null.any() else 0
    edges = EDGES[: last + 1]
    known = -np.log(np.append(tail(null)[:last], 1.0 / (1.0 + null.sum()))[: last + 1])
    inside = np.interp(surprise, edges, known)
    return np.asarray(inside + np.maximum(surprise - edges[-1], 0.0))
