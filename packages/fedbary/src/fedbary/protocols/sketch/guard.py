"""What `policy="coarsen"` looks after: numbers from which no fewer than ``min_group`` different rows can be read.

An answer is a few sums over rows. A dishonest server chooses schema, points, masses, variances and cap so that a sum,
or the difference of two, depends on one row alone. Each function here closes one such way. It is a guard for groups,
not a proof: docs/sketch.md says what it leaves open.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Share of a sum that may be rounding errors.
_ROUNDING = 1e-9


def least_mass(weights: Floats, min_group: int) -> float:
    """Mass that at least ``min_group`` different rows must share, however often one of them was copied."""
    return min(float(np.sort(weights)[-min_group:].sum()), 1.0)


def nearest_shared(costs: Floats, min_group: int) -> Floats:
    """Cost of each row to its nearest point, among points that are nearest for at least ``min_group`` rows.

    A point that is nearest for fewer is taken away, the emptiest first, and its rows look for the next one: the
    result is that of a sketch without the point. (Merging it into a neighbour would tell, by the merged sketch's
    error, that some row lies near it.)
    """
    left = costs.copy()
    nearest = left.argmin(axis=1)
    counts = np.bincount(nearest, minlength=left.shape[1])
    for _ in range(left.shape[1] - 1):
        few = np.flatnonzero((counts > 0) & (counts < min_group))
        if not few.size:
            break
        point = few[np.argmin(counts[few])]
        rows = np.flatnonzero(nearest == point)
        left[:, point] = np.inf
        nearest[rows] = left[rows].argmin(axis=1)
        counts[point] = 0
        counts += np.bincount(nearest[rows], minlength=len(counts))
    return np.asarray(left[np.arange(len(left)), nearest])


def capped_together(values: Floats, weights: Floats, cap: float, min_group: int) -> Floats:
    """min(value, cap), where the cap sets apart either nobody or at least ``min_group`` rows on both of its sides.

    Where it is exceeded by fewer, the ``min_group`` largest values are capped together, if their mean exceeds it, or
    not at all. Where fewer stay below, all rows count as much as the cap.
    """
    capped = values > cap
    if 0 < capped.sum() < min_group:
        top = np.argsort(values, kind="stable")[-min_group:]
        capped[:] = False
        capped[top] = np.average(values[top], weights=weights[top]) > cap
    if 0 < (~capped).sum() < min_group:
        capped[:] = True
    return np.where(capped, cap, values)


def singled_out(parts: Floats, min_group: int) -> bool:
    """Whether a sum over rows is one of fewer than ``min_group`` rows, or of one row more than of all others."""
    sizes = np.abs(parts)
    total = float(sizes.sum())
    some = int((sizes > _ROUNDING * total).sum())
    alone = bool(sizes.max() > 0.5 * total * (1.0 + _ROUNDING))
    return min_group > 1 and (alone or 0 < some < min_group)
