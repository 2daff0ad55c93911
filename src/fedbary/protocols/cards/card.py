"""`Card`: what a linear model needs to know of a client's rows, and nothing else; sums over classes, never rows.

A row is a point z. A card holds, about a centre, the count and the sum of the points of every class, and the sum of
zzᵀ over all rows. Every scaling, imputation, whitening or projection is an affine map of z, so the receiver applies it
to the sums; and the sums of two tables are those of both together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.space.schema import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CardColumn:
    """A column of the table as its owner's rows have it, and the coordinates that it becomes.

    ``numeric`` columns have one coordinate, a ``block`` has ``width``, a ``categorical`` one for each of its levels.
    Where cells are missing (``lacks``) these lie at the card's centre, and as many coordinates follow that are one
    where a cell is missing (one for all levels): so the receiver can put anything else in their place.
    """

    name: str
    kind: str
    width: int = 1
    levels: tuple[str, ...] = ()
    lacks: bool = False

    @property
    def values(self) -> int:
        """Coordinates of its values."""
        return len(self.levels) if self.kind == "categorical" else self.width

    @property
    def coordinates(self) -> int:
        """All of its coordinates."""
        return self.values + (self.lacks * (1 if self.kind == "categorical" else self.width))


@dataclass(frozen=True)
class Release:
    """How a card was made differentially private: ε, δ, and σ, the noise relative to rows of norm ``clip``.

    Counts and squares have noise of √2·σ, sums σ, products of two coordinates σ, where rows have norm 1.
    """

    epsilon: float
    delta: float
    sigma: float
    clip: float


@dataclass(frozen=True, eq=False)
class Card:
    """Class moments of one client.

    Attributes
    ----------
    name : str
        What its owner is called; a claim.
    rows : int
        Rows of the table, as declared.
    label, kind : str
        The label's name, and whether it is ``classes`` or a ``number``.
    columns : tuple of CardColumn
        The columns, where coordinates are the table's own; empty where ``schema`` says what they are.
    classes : tuple of str
        The classes of ``counts`` and ``sums``. One without a name where the label is a number, which then is the last
        coordinate.
    centre : array (d,)
        What the moments are about.
    counts, sums : arrays (K,), (K, d)
        Different rows of each class, and the sum of z − centre over them.
    second : array (d, d) or (d,)
        The sum of (z − centre)(z − centre)ᵀ over all of them, or only its diagonal.
    schema : Schema, optional
        Public coordinates that were agreed on beforehand.
    release : Release, optional
        What was added for differential privacy; None in an exact card.
    shared : bool
        Its owner agrees that others may receive a model that is made of this card and no other.
    """

    name: str
    rows: int
    label: str
    kind: str
    columns: tuple[CardColumn, ...]
    classes: tuple[str, ...]
    centre: Floats
    counts: Floats
    sums: Floats
    second: Floats
    schema: Schema | None = None
    release: Release | None = None
    shared: bool = False

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return len(self.centre)

    @property
    def full(self) -> bool:
        """Whether products of different coordinates are known."""
        return self.second.ndim == 2

    def about(self, centre: Floats) -> Card:
        """The same moments about another centre."""
        moved = self.centre - centre
        total = self.sums.sum(axis=0)
        count = float(self.counts.sum())
        if self.full:
            cross = np.outer(total, moved)
            second = self.second + cross + cross.T + count * np.outer(moved, moved)
        else:
            second = self.second + 2.0 * total * moved + count * moved**2
        return replace(self, centre=centre, sums=self.sums + self.counts[:, None] * moved, second=second)
