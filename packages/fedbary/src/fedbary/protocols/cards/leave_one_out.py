"""Sums of cards without one client's: what its model is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.class_moments import ClassMoments

Bools = NDArray[np.bool_]

# With two holders the model of one is the other's card.
FEWEST_HOLDERS = 3


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
    """Who holds which class, by which a class may have a part in a client's model or not.

    ``held`` says which card (N) has which class (K), ``shared`` whose owners agree that a model is made of it alone.
    """

    def __init__(self, held: Bools, shared: Bools) -> None:
        self.held, self._closed = held, held & ~shared[:, None]
        # Added up once: for each client all others' holdings would be as many steps as there are clients.
        self._holders, self._not_agreed = held.sum(axis=0), self._closed.sum(axis=0)

    def modelled(self, place: int) -> Bools:
        """Which classes may have a part in a client's model: three hold it, or all other holders agree."""
        others = self._holders - self.held[place]
        agreed = self._not_agreed == self._closed[place]
        return np.asarray((others > 0) & (agreed | (others >= FEWEST_HOLDERS - 1)))


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
