"""What clean rows cost by chance: held-out rows of the reference, as many as a client has, against the sketch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.host import ParallelMap
from fedbary.protocols.randomness import generator
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.points import Points
from fedbary.transport import solve

_DRAWS = 3
# Different sizes of clients that clean rows are drawn for, each; those between get what lies between.
_MOST_SIZES = 24


def held_out_costs(
    clean: Points, sketch: SketchPoints, rows: Iterable[int], *, cap: float | None, seed: int, over: ParallelMap
) -> dict[int, list[float]]:
    """d_S² of a few draws of as many clean rows as each client has: what size alone costs."""
    wanted = sorted(set(rows))
    sizes = np.unique([min(size, clean.rows) for size in wanted])
    # All clean rows can be drawn in one way only.
    jobs = [(int(size), draw) for size in _some_sizes(sizes) for draw in range(1 if size == clean.rows else _DRAWS)]
    costs: dict[int, list[float]] = {}
    for (size, _), cost in zip(jobs, over(partial(_held_out_cost, clean, sketch, cap, seed), jobs), strict=True):
        costs.setdefault(size, []).append(cost)
    between = _between_sizes(costs, sizes)
    return {size: between[min(size, clean.rows)] for size in wanted}


def _some_sizes(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """All sizes where they are few, else some from the least to the largest, in equal ratios."""
    if len(sizes) <= _MOST_SIZES:
        return sizes
    wanted = np.geomspace(sizes[0], sizes[-1], _MOST_SIZES)
    return np.unique(sizes[np.abs(sizes - wanted[:, None]).argmin(axis=1)])


def _between_sizes(costs: Mapping[int, list[float]], sizes: NDArray[np.int64]) -> dict[int, list[float]]:
    """Costs at all sizes, from those at some: fewer rows cost more, in proportion to one over their number."""
    known = np.array(sorted(costs, reverse=True))
    most = max(map(len, costs.values()), default=1)
    draws = np.array([np.resize(np.sort(costs[size]), most) for size in known.tolist()])
    found = {}
    for size in map(int, sizes):
        if size in costs:
            found[size] = costs[size]
        else:
            found[size] = [float(np.interp(1.0 / size, 1.0 / known, column)) for column in draws.T]
    return found


def _held_out_cost(clean: Points, sketch: SketchPoints, cap: float | None, seed: int, job: tuple[int, int]) -> float:
    """d_S² of a draw of clean rows."""
    size, draw = job
    rng = generator(seed, "excess", size, draw)
    rows = rng.choice(clean.rows, min(size, clean.rows), replace=False)
    points = clean.points[clean.point_of_row[rows]]
    return solve(points, sketch.points, None, sketch.weights, cap=cap).cost
