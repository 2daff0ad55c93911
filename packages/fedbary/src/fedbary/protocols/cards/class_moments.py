"""`ClassMoments`: what cards say in coordinates that all of them share; they add up to models of the others' cards.

What the receiver of noisy moments makes of them, knowing how large the noise is (`repaired`), is post-processing;
without it, ε is wasted. Where there is no noise, counts, means and covariance stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.discriminant import Discriminant, standardising, steadied

Floats = NDArray[np.float64]

# How much of the products in the class means' own covariance is believed: it is told by no more points than classes.
_BELIEVED = 0.5
# Times τ·√d, the least variance in any direction; eigenvalues of noise alone reach 2·τ·√d.
_FLOOR = 1.5
Bools = NDArray[np.bool_]

# Of a model's rows the largest holder has no more than 8 in 10, and the two largest no more than 9 in 10: so of three
# holders each has a tenth, and where there are more, the small ones stand together.
_LARGEST, _TWO_LARGEST = 0.8, 0.9
_ROUNDING = 1e-9


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


def repaired(moments: ClassMoments) -> tuple[Floats, Floats, Floats]:
    """Counts (K,), class means (K, d) and the covariance (d, d) of rows about these means.

    Counts are shrunk towards each other and class means towards the grand mean, each by its noise relative to how much
    it varies. The covariance is about the shrunk means, so that it also holds what is not known of them; its
    eigenvalues are at least of the size of the noise in it.
    """
    # Shrunk by v/(v + noise), v = max(var(n) − noise, 0); at least one row each, or as many as noise makes up.
    counts, noisy = moments.counts, moments.noise.count
    if len(counts) > 1:
        spread = max(float(counts.var(ddof=1)) - noisy, 0.0)
        counts = counts.mean() + (counts - counts.mean()) * (spread / (spread + noisy) if noisy > 0.0 else 1.0)
    counts = np.maximum(counts, max(1.0, float(np.sqrt(noisy))))
    shares = counts / counts.sum()
    grand = moments.sums.sum(axis=0) / counts.sum()
    apart = _shrunk(moments.sums / counts[:, None] - grand, moments.noise.sum / counts**2)
    second = moments.second if moments.full else np.diag(moments.second)
    covariance = second / counts.sum() - np.outer(grand, grand) - (apart.T * shares) @ apart
    # With eigenvalues that noise of this deviation in every product cannot have made up.
    noise = np.sqrt(moments.noise.product) / counts.sum()
    least = _FLOOR * noise * np.sqrt(len(covariance) if moments.full else 2.0)
    values, directions = np.linalg.eigh(covariance)
    return counts, grand + apart, np.asarray((directions * np.maximum(values, least)) @ directions.T)


def _shrunk(apart: Floats, noise: Floats) -> Floats:
    """What lies between classes (K, d), given the variance of the noise in each class mean (K,).

    The best estimate, B(B + ν_c)⁻¹ times what is seen, if the class means have covariance B about the grand mean. B is
    what the noise leaves of the covariance that is seen, classes counting by how well they are known.
    """
    if not noise.any():
        return apart
    precise = 1.0 / noise
    precise /= precise.sum()
    seen = (apart.T * precise) @ apart - float(precise @ noise) * np.eye(apart.shape[1])
    values, directions = np.linalg.eigh(seen)
    between = _BELIEVED * (directions * np.maximum(values, 0.0)) @ directions.T
    between += (1.0 - _BELIEVED) * np.diag(np.maximum(np.diag(seen), 0.0))
    values, directions = np.linalg.eigh(between)
    values = np.maximum(values, 0.0)
    return np.asarray(((apart @ directions) * (values / (values + noise[:, None]))) @ directions.T)


def discriminant(total: ClassMoments, centre: Floats, scale: Floats) -> Discriminant:
    """Of the rows behind moments; where noise was added, repaired by what is known of it."""
    if total.noise == EXACT:
        return Discriminant.of(total.counts, total.sums, total.second, centre, scale)
    counts, means, covariance = repaired(total)
    steady = steadied(covariance / np.outer(scale, scale), max(float(counts.sum()), 1.0))
    return Discriminant(centre, scale, counts, (means - centre) / scale, steady)


def common_coordinates(total: ClassMoments) -> tuple[Floats, Floats]:
    """Centre and scale of everybody's coordinates; noise may leave a variance that is none."""
    squares = np.diag(total.second) if total.full else total.second
    return standardising(max(total.rows, 1.0), total.sums.sum(axis=0), squares)


def restricted(moments: ClassMoments, known: Bools) -> ClassMoments:
    """The moments of some classes alone; the scatter inside the others is left out in proportion to their rows."""
    if known.all():
        return moments
    kept = ClassMoments(moments.counts[known], moments.sums[known], np.zeros_like(moments.second), moments.noise)
    within = moments.within() * (kept.rows / max(moments.rows, 1e-12))
    return ClassMoments(kept.counts, kept.sums, within - kept.within(), moments.noise)


class Sums:
    """The sum of cards, as far as they are believed, from which any one can be taken away.

    Where only some cards tell products of coordinates, these stand for the others, too.
    """

    def __init__(self, parts: Sequence[ClassMoments]) -> None:
        self._parts = list(parts)
        self._all = reduce(add, [part.diagonal() for part in parts])
        full = [part for part in parts if part.full]
        self._full = reduce(add, full) if full else None
        self._all_full = len(full) == len(self._parts)

    def without(self, place: int | None) -> ClassMoments:
        """All cards but one; all of them for None."""
        everyone = self._all if place is None else _minus(self._all, self._parts[place].diagonal())
        told = self._full
        if place is not None and self._parts[place].full and told is not None:
            told = _minus(told, self._parts[place])
        if told is None or told.rows <= 0.0 or everyone.rows <= 0.0:
            return everyone
        if self._all_full:
            return told
        within = told.within() * (everyone.rows / told.rows)
        means = everyone.sums / np.sqrt(np.maximum(everyone.counts, 1e-12))[:, None] * (everyone.counts > 0)[:, None]
        return ClassMoments(everyone.counts, everyone.sums, within + means.T @ means, everyone.noise)


class Holders:
    """Who holds how much of which class, by which a class may have a part in a client's model or not.

    ``rows`` are those of each card (N) and class (K) as far as they are believed; ``shared`` says whose owners agree
    that a model is made of it alone.
    """

    def __init__(self, rows: Floats, shared: Bools) -> None:
        self.held = rows > 0
        # The covariance is of all classes together, so it has to be several holders', too.
        self._rows = np.column_stack([rows, rows.sum(axis=1)])
        self._closed, self._open = (self._rows > 0) & ~shared[:, None], self.held & shared[:, None]
        # Added up and sorted once: for each client all others' rows would be as many steps as there are clients.
        self._total, self._all_closed = self._rows.sum(axis=0), self._closed.sum(axis=0)
        self._largest = np.argsort(-self._rows, axis=0, kind="stable")[:3]

    def modelled(self, place: int) -> Bools:
        """Which classes may have a part in a client's model: three others hold enough, or all other holders agree."""
        others = self._total - self._rows[place]
        top = np.where(self._largest == place, 0.0, np.take_along_axis(self._rows, self._largest, axis=0))
        top = -np.sort(-top, axis=0)
        limit = others * (1.0 + _ROUNDING)
        several = (top[0] <= _LARGEST * limit) & (top[:2].sum(axis=0) <= _TWO_LARGEST * limit)
        fine = (others > _ROUNDING * self._total) & (several | self._agreed(place))
        return np.asarray(fine[:-1] & fine[-1])

    def shared(self, place: int) -> Bools:
        """Which classes others hold who agree that a model is made of their card alone."""
        return np.asarray(self._open.sum(axis=0) > self._open[place])

    def compared(self, place: int) -> Bools:
        """Which classes the server itself, which has all cards, compares a client's with: of two others, or agreed."""
        others = self.held.sum(axis=0) - self.held[place]
        return np.asarray((others > 0) & ((others > 1) | self._agreed(place)[:-1]))

    def _agreed(self, place: int) -> Bools:
        return np.asarray(self._all_closed == self._closed[place])


def _minus(total: ClassMoments, part: ClassMoments) -> ClassMoments:
    counts = np.maximum(total.counts - part.counts, 0.0) if part.noise.count == 0.0 else total.counts - part.counts
    noise = type(part.noise)(
        *(max(getattr(total.noise, name) - getattr(part.noise, name), 0.0) for name in ("count", "sum", "product"))
    )
    return ClassMoments(counts, total.sums - part.sums, total.second - part.second, noise)
