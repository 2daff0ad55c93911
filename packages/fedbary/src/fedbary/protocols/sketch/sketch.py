"""The sketch of a target: exact means, masses and variances of groups of its points; and what clean rows cost there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of
from fedbary.judging.grouping import grouped_by_class
from fedbary.protocols.host import ParallelMap, generator
from fedbary.space.columns import LARGEST, SMALLEST
from fedbary.space.points import Points
from fedbary.transport import solve
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]

_MOST_POINTS = 20_000
# Share of its rows that the smallest group of any reference has.
_LEAST_MASS = 1e-9
_MOST_GROUPS = 300
_CAP_QUANTILE = 0.99
_PARTS = 5
# What a message has of it.
POINTS = {
    "points": Numbers(("points", "width")),
    "weights": Numbers(("points",), 0.0, 1.0),
    "variances": Numbers(("points",), 0.0),
}
_DRAWS = 3
# Different sizes of clients that clean rows are drawn for, each; those between get what lies between.
_MOST_SIZES = 24


@dataclass(frozen=True, eq=False)
class SketchPoints:
    """Group means z_s with masses w_s and within-group variances e_s², and the cost cap C."""

    points: Floats
    weights: Floats
    variances: Floats
    cap: float

    @property
    def error(self) -> float:
        """The bound e = √(Σ w_s·e_s²) on W(Q, sketch)."""
        return float(np.sqrt(self.weights @ self.variances))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], cap: float, *, width: int) -> SketchPoints:
        """Read a sketch of points with ``width`` coordinates from a message; refuses what no honest server sends."""
        if not SMALLEST <= cap <= LARGEST:
            raise ProtocolError("protocols.message-unfit", kind="sketch", name="cap")
        points, weights, variances = arrays_of(POINTS, arrays, {"width": width, "points": range(1, _MOST_POINTS + 1)})
        if (weights < _LEAST_MASS).any() or abs(float(weights.sum()) - 1.0) > 1e-9:
            raise ProtocolError("protocols.sketch-masses")
        return cls(points, weights, variances, cap)


def make_sketch(
    points: Floats,
    weights: Floats,
    classes: NDArray[np.int64],
    size: int | None,
    *,
    min_group: int,
    seed: int,
    private: bool = False,
) -> SketchPoints:
    """Group points, never across ``classes`` except where a class has fewer than ``min_group`` points.

    Left out, ``size`` makes groups of about twice ``min_group`` points, at most 300, at least one for each class.

    Small classes are merged into the nearest group, so every group has at least ``min_group`` points; the means
    and variances stay exact, so the interval of the protocol holds for any grouping.

    The cap bounds what a single row can do: almost no pair of a clean point and a group costs more. For ``private``
    answers the noise is as large as the cap, so it is twice what almost no clean point costs at its nearest group.
    """
    if size is None:
        size = max(int(classes.max()) + 1, min(_MOST_GROUPS, len(points) // (2 * min_group)), 1)
    most = {int(code): max(1, round(size * float(weights[classes == code].sum()))) for code in np.unique(classes)}
    groups = grouped_by_class(points, classes, most, min_group=min_group, seed=seed)
    groups = _merge_small(points, weights, groups, min_group)
    means, masses, variances = _summaries(points, weights, groups)
    costs = cost_matrix(points, means, 2)
    cap = float(np.quantile(costs, _CAP_QUANTILE)) or 1.0
    if private:
        cap = min(cap, 2.0 * float(np.quantile(costs.min(axis=1), _CAP_QUANTILE))) or cap
    return SketchPoints(means, masses, variances, cap)


def sketches_without(
    cloud: Points, classes: NDArray[np.int64], like: SketchPoints, min_group: int, seed: int
) -> Iterator[tuple[NDArray[np.bool_], SketchPoints]]:
    """For each of a few parts of the points, a sketch of as many groups of all others."""
    part = np.random.default_rng(seed).permutation(cloud.distinct) % _PARTS
    for number in range(_PARTS):
        out = part == number
        if not out.any() or (~out).sum() < min_group:
            yield out, like
            continue
        weights = cloud.weights[~out] / cloud.weights[~out].sum()
        size = len(like.weights)
        yield out, make_sketch(cloud.points[~out], weights, classes[~out], size, min_group=min_group, seed=seed)


def coarsened(sketch: SketchPoints, least_mass: float) -> SketchPoints:
    """Merge points until each carries ``least_mass``: a client's defence against points that single out rows.

    Means, masses and variances merge exactly, so the interval stays valid; it only gets wider.
    """
    points, weights, variances = sketch.points.copy(), sketch.weights.copy(), sketch.variances.copy()
    while len(weights) > 1 and weights.min() < least_mass:
        small = int(np.argmin(weights))
        distances = ((points - points[small]) ** 2).sum(axis=1)
        distances[small] = np.inf
        near = int(np.argmin(distances))
        total = weights[small] + weights[near]
        shares = np.array([weights[small], weights[near]]) / total
        mean = shares @ points[[small, near]]
        spread = ((points[[small, near]] - mean) ** 2).sum(axis=1)
        variances[near] = shares @ (variances[[small, near]] + spread)
        points[near], weights[near] = mean, total
        keep = np.arange(len(weights)) != small
        points, weights, variances = points[keep], weights[keep], variances[keep]
    return SketchPoints(points, weights / weights.sum(), variances, sketch.cap)


def _merge_small(points: Floats, weights: Floats, groups: NDArray[np.int64], min_group: int) -> NDArray[np.int64]:
    while True:
        ids, counts = np.unique(groups, return_counts=True)
        if len(ids) == 1 or counts.min() >= min_group:
            return np.unique(groups, return_inverse=True)[1].astype(np.int64)
        means, _, _ = _summaries(points, weights, np.unique(groups, return_inverse=True)[1])
        small = int(np.argmin(counts))
        distances = ((means - means[small]) ** 2).sum(axis=1)
        distances[small] = np.inf
        groups = np.where(groups == ids[small], ids[int(np.argmin(distances))], groups)


def _summaries(points: Floats, weights: Floats, groups: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    count = int(groups.max()) + 1
    masses = np.bincount(groups, weights, minlength=count)
    sums = np.zeros((count, points.shape[1]))
    np.add.at(sums, groups, weights[:, None] * points)
    means = sums / masses[:, None]
    squared = ((points - means[groups]) ** 2).sum(axis=1)
    return means, np.asarray(masses, float), np.bincount(groups, weights * squared, minlength=count) / masses


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
