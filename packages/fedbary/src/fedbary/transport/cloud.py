"""`Cloud`: weighted points that come in chunks, whether they lie in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Points of a chunk.
CHUNK = 65_536


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
        """The points in slices."""
        for start in range(0, len(self.points), CHUNK):
            yield self.points[start : start + CHUNK]


def points_of(cloud: Cloud, rows: NDArray[np.int64]) -> Floats:
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
