"""`counted_as`: cards that say the same, also of more or fewer rows, count once, whoever sends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.card import Card

Floats = NDArray[np.float64]

# In standard deviations of a column. Rounding stays far below it, and two tables of a million rows each far above.
_SAME = 1e-6


def counted_as(cards: Mapping[str, Card]) -> dict[str, str]:
    """For each client the first one whose card says the same: class shares, means and products of columns."""
    with np.errstate(all="ignore"):  # numbers that are too large are nobody's, and like no other
        said = {name: _Said.of(card) for name, card in cards.items()}
    places = {name: place for place, name in enumerate(cards)}
    # In the order of a number that equal cards share but for rounding, so that not every pair has to be compared.
    groups: list[list[str]] = []
    near: list[list[str]] = []
    for name in sorted(cards, key=lambda name: said[name].number):
        own = said[name]
        near = [group for group in near if own.number - said[group[-1]].number <= own.rounding]
        group = next((group for group in near if said[group[-1]].same(own)), None)
        if group is None:
            group = []
            groups.append(group)
            near.append(group)
        group.append(name)
    first = {name: min(group, key=places.__getitem__) for group in groups for name in group}
    return {name: first[name] for name in cards}


@dataclass(frozen=True, eq=False)
class _Said:
    """What a card says per row: means in the columns' own units, and all else in their standard deviations."""

    about: tuple[object, ...]
    mean: Floats
    deviation: Floats
    shares: Floats

    @classmethod
    def of(cls, card: Card) -> _Said:
        rows = max(float(card.counts.sum()), np.finfo(float).tiny)
        mean = card.centre + card.sums.sum(axis=0) / rows
        middle = card.about(mean)
        variance = (np.diag(middle.second) if card.full else middle.second) / rows
        varies = variance > np.maximum((1e-9 * mean) ** 2, 1e-200)
        deviation = np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), np.maximum(1e-9 * np.abs(mean), 1e-100))
        by = np.outer(deviation, deviation) if card.full else deviation**2
        parts = card.counts / rows, middle.sums / rows / deviation, middle.second / rows / by
        schema = None if card.schema is None else card.schema.fingerprint
        about = (card.label, card.kind, card.columns, card.classes, schema, card.release, card.full)
        return cls(about, mean, deviation, np.concatenate([part.ravel() for part in parts]))

    @property
    def number(self) -> float:
        return float(np.nan_to_num(np.abs(self.shares).sum()))

    @property
    def rounding(self) -> float:
        """How far the numbers of equal cards can be apart."""
        return 2.0 * _SAME * (len(self.shares) + self.number)

    def same(self, other: _Said) -> bool:
        if self.about != other.about or self.mean.shape != other.mean.shape:
            return False
        near = np.abs(self.mean - other.mean) <= _SAME * np.maximum(self.deviation, other.deviation)
        return bool(near.all() and np.allclose(self.shares, other.shares, rtol=_SAME, atol=_SAME))
