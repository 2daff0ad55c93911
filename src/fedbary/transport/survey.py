"""One pass over a cloud: where each point would go at given prices of the targets, and how nearly elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.cloud import Cloud

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points that are compared with all targets at once: their costs stay in the processor's cache.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Targets:
    """The small side of a problem: points with weights, in regions between which points seldom have to choose.

    Targets of a region stand together; ``first`` has the place of the first one of each.
    """

    points: Floats
    weights: Floats
    first: Integers
    cap: float | None

    @property
    def region(self) -> Integers:
        """The region of each target."""
        return np.repeat(np.arange(len(self.first)), np.diff(np.append(self.first, len(self.weights))))

    def costs(self, points: Floats, dtype: type[np.floating] = np.float64) -> Floats:
        """min(‖x − y‖², cap), a row for each point, with the product of the centred points in ``dtype``."""
        centre = self.points.mean(axis=0)
        own, theirs = (points - centre).astype(dtype), (self.points - centre).astype(dtype)
        costs: Floats = own @ (-2.0 * theirs.T)
        costs += np.einsum("ij,ij->i", theirs, theirs)
        costs += np.einsum("ij,ij->i", own, own)[:, None]
        np.maximum(costs, 0.0, out=costs)
        return costs if self.cap is None else np.minimum(costs, self.cap, out=costs)


@dataclass(frozen=True, eq=False)
class Survey:
    """For each point: its best target at the prices, the second best, and what the second best costs more.

    ``value`` is min_s(c_is − g_s); ``outside`` what the best target of another region costs more.
    """

    best: Integers
    second: Integers
    margin: Floats
    outside: Floats
    value: Floats


def survey(cloud: Cloud, targets: Targets, g: Floats, dtype: type[np.floating]) -> Survey:
    """Ask every point of a cloud, with products in ``dtype``."""
    size = len(cloud.weights)
    best, second = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    margin, outside, value = (np.empty(size) for _ in range(3))
    region = targets.region
    for rows, points in blocks(cloud):
        # Values beyond float32 are settled in float64.
        with np.errstate(over="ignore", invalid="ignore"):
            reduced = targets.costs(points, dtype)
            reduced -= g.astype(dtype)
        at = np.arange(len(points))
        best[rows] = reduced.argmin(axis=1)
        value[rows] = reduced[at, best[rows]]
        if len(targets.first) > 1:
            by_region = np.minimum.reduceat(reduced, targets.first, axis=1)
            by_region[at, region[best[rows]]] = np.inf
            outside[rows] = by_region.min(axis=1) - value[rows]
        reduced[at, best[rows]] = np.inf
        second[rows] = reduced.argmin(axis=1)
        margin[rows] = reduced[at, second[rows]] - value[rows]
    # One target leaves no choice, and neither do values beyond float32.
    np.copyto(margin, 0.0, where=~np.isfinite(margin))
    if len(targets.first) == 1:
        outside = margin
    return Survey(best, second, margin, outside, value)


def blocks(cloud: Cloud) -> Iterator[tuple[slice, Floats]]:
    """The points of a cloud, a few thousand at a time, with their places."""
    start = 0
    for chunk in cloud.chunks():
        for inner in range(0, len(chunk), _BLOCK):
            part = chunk[inner : inner + _BLOCK]
            yield slice(start + inner, start + inner + len(part)), part
        start += len(chunk)
