"""`Cloud`: weighted points that come in chunks, whether they lie in memory, on disk, or on a GPU between passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays, arrays_for
from fedbary.compute.arrays import PartsOnDevice

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points of a chunk.
CHUNK = 65_536
# Points that are compared with all targets at once: their costs stay in the processor's cache.
_BLOCK = 8192
# Passes that a transport takes, about, for the choice of a device.
_PASSES = 5


@runtime_checkable
class Cloud(Protocol):
    """Weighted points, read in order and as often as needed, a chunk at a time."""

    @property
    def weights(self) -> Floats:
        """Weights of the points, which sum to one."""
        ...

    def chunks(self) -> Iterator[Floats]:
        """The points in order, some at a time."""
        ...


@dataclass(frozen=True, eq=False)
class CloudInMemory:
    """Points and weights as arrays."""

    points: Floats
    weights: Floats

    def chunks(self) -> Iterator[Floats]:
        for start in range(0, len(self.points), CHUNK):
            yield self.points[start : start + CHUNK]


class CloudOnDevice:
    """A cloud as it was, and its points on a device, which keeps them between passes where they fit."""

    def __init__(self, cloud: Cloud, width: int, xp: Arrays) -> None:
        self.weights, self.chunks, self.xp = cloud.weights, cloud.chunks, xp
        self._parts = PartsOnDevice(cloud.chunks, 8 * width * len(cloud.weights), xp)

    def parts(self) -> Iterator[tuple[slice, Array]]:
        """The points on the device, with their places."""
        start = 0
        for part in self._parts:
            yield slice(start, start + len(part)), part
            start += len(part)


def on_device(cloud: Cloud, targets: Floats) -> Cloud:
    """The cloud on a GPU, where there is one and to compare all points with the targets is worth its start."""
    xp = arrays_for(float(_PASSES) * len(cloud.weights) * targets.size)
    return cloud if xp is NUMPY else CloudOnDevice(cloud, targets.shape[1], xp)


def parts_of(cloud: Cloud) -> tuple[Arrays, Iterator[tuple[slice, Array]]]:
    """The points of a cloud with their places, where they lie: on a device, or some thousands at a time here."""
    return (cloud.xp, cloud.parts()) if isinstance(cloud, CloudOnDevice) else (NUMPY, blocks(cloud))


def blocks(cloud: Cloud) -> Iterator[tuple[slice, Floats]]:
    """The points of a cloud, a few thousand at a time, with their places."""
    start = 0
    for chunk in cloud.chunks():
        for inner in range(0, len(chunk), _BLOCK):
            part = chunk[inner : inner + _BLOCK]
            yield slice(start + inner, start + inner + len(part)), part
        start += len(chunk)


def points_of(cloud: Cloud, rows: Integers) -> Floats:
    """Some of a cloud's points, in the order of ``rows``, which must be ascending."""
    if isinstance(cloud, CloudInMemory):
        return cloud.points[rows]
    taken, start = [], 0
    for chunk in cloud.chunks():
        first, last = np.searchsorted(rows, (start, start + len(chunk)))
        taken.append(chunk[rows[first:last] - start])
        start += len(chunk)
    return np.concatenate(taken)


def drawn(cloud: Cloud, count: int) -> CloudInMemory | None:
    """Points drawn in proportion to their weights, one from each of ``count`` equal stretches of mass; or no sample.

    Where the points stand in an order of their values, as a table's points do, so does the sample.
    """
    if len(cloud.weights) <= count:
        return None
    reached = np.cumsum(cloud.weights)
    drawn = (np.arange(count) + np.random.default_rng(0).random(count)) * (reached[-1] / count)
    rows, times = np.unique(np.searchsorted(reached, drawn, side="right"), return_counts=True)
    return CloudInMemory(points_of(cloud, rows), times / count)
