"""Sums of cards without one client's: what its model is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.class_moments import ClassMoments

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Of a model's rows the largest holder has no more than 8 in 10, and the two largest no more than 9 in 10: so of three
# holders each has a tenth, and where there are more, the small ones stand together.
_LARGEST, _TWO_LARGEST = 0.8, 0.9
_ROUNDING = 1e-9


class Sums:
    """The sum of cards, as far as they are believed, from which any one can be taken away.

    Where only some cards tell products of coordinates, these stand for the others, too.
    """

    def __init__(self, parts: Sequence[ClassMoments]) -> None:
        self._parts = list(parts)
        self._all = _total([part.diagonal() for part in parts])
        full = [part for part in parts if part.full]
        self._full = _total(full) if full else None
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


def _total(parts: Sequence[ClassMoments]) -> ClassMoments:
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def _minus(total: ClassMoments, part: ClassMoments) -> ClassMoments:
    counts = np.maximum(total.counts - part.counts, 0.0) if part.noise.count == 0.0 else total.counts - part.counts
    noise = type(part.noise)(
        *(max(getattr(total.noise, name) - getattr(part.noise, name), 0.0) for name in ("count", "sum", "product"))
    )
    return ClassMoments(counts, total.sums - part.sums, total.second - part.second, noise)
