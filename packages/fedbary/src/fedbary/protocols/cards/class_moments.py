"""`ClassMoments`: what cards say in coordinates that all of them share; they add up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Variances of the noise in moments: of a count, of a sum's coordinate, of a product of two coordinates.

    Squares have twice the variance of products. Without differential privacy all are 0.
    """

    count: float = 0.0
    sum: float = 0.0
    product: float = 0.0

    def __add__(self, other: Noise) -> Noise:
        return Noise(self.count + other.count, self.sum + other.sum, self.product + other.product)


EXACT = Noise()


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Counts (K,), sums (K, d) and the second moment of all rows, (d, d) or its diagonal (d,), about the origin."""

    counts: Floats
    sums: Floats
    second: Floats
    noise: Noise = EXACT

    @property
    def full(self) -> bool:
        """Whether products of different coordinates are known."""
        return self.second.ndim == 2

    @property
    def rows(self) -> float:
        """Rows of all classes."""
        return float(self.counts.sum())

    @property
    def means(self) -> Floats:
        """Class means (K, d); zero where a class has no rows."""
        return np.asarray(self.sums / np.maximum(self.counts, 1e-12)[:, None] * (self.counts > 0)[:, None])

    def within(self) -> Floats:
        """The sum of squares and products about the class means."""
        scaled = self.sums / np.sqrt(np.maximum(self.counts, 1e-12))[:, None] * (self.counts > 0)[:, None]
        return np.asarray(self.second - (scaled.T @ scaled if self.full else (scaled**2).sum(axis=0)))

    def diagonal(self) -> ClassMoments:
        """The same without products of different coordinates."""
        return replace(self, second=np.diag(self.second).copy()) if self.full else self

    def times(self, weight: float) -> ClassMoments:
        """Every row counted so often."""
        noise = Noise(*(weight**2 * part for part in (self.noise.count, self.noise.sum, self.noise.product)))
        return ClassMoments(weight * self.counts, weight * self.sums, weight * self.second, noise)

    def less(self, rows: ClassMoments) -> ClassMoments:
        """Without exact moments of rows that are in them."""
        second = rows.second if self.full else rows.diagonal().second
        counts = np.maximum(self.counts - rows.counts, 0.0)
        return ClassMoments(counts, self.sums - rows.sums, self.second - second, self.noise)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if self.full != other.full:
            return self.diagonal() + other.diagonal()
        parts = (getattr(self, name) + getattr(other, name) for name in ("counts", "sums", "second", "noise"))
        return ClassMoments(*parts)
