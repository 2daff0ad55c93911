"""One pass over a cloud: where each point would go at given prices of the targets, and how nearly elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays
from fedbary.compute.cores import by_all_cores
from fedbary.compute.kernels import nearest
from fedbary.transport.cloud import Cloud
from fedbary.transport.held_cloud import HeldCloud

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points that are compared with all targets at once: their costs stay in the processor's cache.
_BLOCK = 8192
# From so many points on one client's work is worth all cores: smaller ones are worked on side by side.
_BY_ALL_CORES = 65_536


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

    def costs(self, points: Array, dtype: type[np.floating] = np.float64, xp: Arrays = NUMPY) -> Array:
        """min(‖x − y‖², cap), a row for each point, with the product of the centred points in ``dtype``."""
        centre = self.points.mean(axis=0)
        own, theirs = (xp.asarray(one, dtype) for one in (points - xp.asarray(centre), self.points - centre))
        costs = own @ (-2.0 * theirs.T)
        costs += xp.einsum("ij,ij->i", theirs, theirs)
        costs += xp.einsum("ij,ij->i", own, own)[:, None]
        return xp.clip(costs, 0.0, self.cap, out=costs)


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
    xp, parts = parts_of(cloud)

    def ask(part: tuple[slice, Array]) -> None:
        rows, points = part
        # Values beyond float32 are settled in float64.
        with np.errstate(over="ignore", invalid="ignore"):
            reduced = targets.costs(points, dtype, xp)
            reduced -= xp.asarray(g, dtype)
            found = nearest(reduced, targets.first, xp)
            best[rows], second[rows] = xp.numpy(found.target), xp.numpy(found.second_target)
            value[rows] = xp.numpy(found.value)
            margin[rows] = xp.numpy(found.second_value - found.value)
            outside[rows] = xp.numpy(found.elsewhere - found.value)

    if xp is NUMPY and size > _BY_ALL_CORES:
        by_all_cores(ask, parts)
    else:
        for part in parts:
            ask(part)
    # One target leaves no choice, and neither do values beyond float32.
    np.copyto(margin, 0.0, where=~np.isfinite(margin))
    if len(targets.first) == 1:
        outside = margin
    return Survey(best, second, margin, outside, value)


def parts_of(cloud: Cloud) -> tuple[Arrays, Iterator[tuple[slice, Array]]]:
    """The points of a cloud with their places, where they lie: on a device, or some thousands at a time here."""
    return (cloud.xp, cloud.parts()) if isinstance(cloud, HeldCloud) else (NUMPY, blocks(cloud))


def blocks(cloud: Cloud) -> Iterator[tuple[slice, Floats]]:
    """The points of a cloud, a few thousand at a time, with their places."""
    start = 0
    for chunk in cloud.chunks():
        for inner in range(0, len(chunk), _BLOCK):
            part = chunk[inner : inner + _BLOCK]
            yield slice(start + inner, start + inner + len(part)), part
        start += len(chunk)
