"""The sketch of a target: exact means, masses and variances of groups of its points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of
from fedbary.judging.scoring.mixture import grouped_by_class
from fedbary.space.columns import LARGEST, SMALLEST
from fedbary.space.points import Points
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
