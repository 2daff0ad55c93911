"""`joined`: the card of all rows from cards of some of them each; so a large table's is made a part at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.card import Card, CardColumn

Floats = NDArray[np.float64]


def joined(cards: Iterable[Card]) -> Card:
    """One exact card for several of tables with the same columns, whose rows are all different.

    Each card's moments are about its own mean, so that adding them up loses no digits (Chan, Golub and LeVeque, 1983).
    Levels and classes that a part lacks are none of its rows', and cells that are missing move to the mean of all.
    """
    several = iter(cards)
    found = next(several)
    for card in several:
        found = _both(found, card)
    return found


def _both(one: Card, other: Card) -> Card:
    columns = tuple(map(_column, one.columns, other.columns))
    classes = tuple(sorted({*one.classes, *other.classes}))
    one, other = (_widened(card, columns, classes) for card in (one, other))
    moved = _fillings(one, other)
    one, other = _filled(one, moved[0]), _filled(other, moved[1])
    share = other.counts.sum() / max(float(one.counts.sum() + other.counts.sum()), 1.0)
    middle = one.centre + share * (other.centre - one.centre)
    one, other = one.about(middle), other.about(middle)
    return replace(
        one,
        rows=one.rows + other.rows,
        counts=one.counts + other.counts,
        sums=one.sums + other.sums,
        second=one.second + other.second,
    )


def _column(one: CardColumn, other: CardColumn) -> CardColumn:
    return replace(one, levels=tuple(sorted({*one.levels, *other.levels})), lacks=one.lacks or other.lacks)


def _widened(card: Card, columns: tuple[CardColumn, ...], classes: tuple[str, ...]) -> Card:
    """The same rows with coordinates and classes that none of them has."""
    if columns == card.columns and classes == card.classes:
        return card
    width = sum(column.coordinates for column in columns) + (card.kind == "number")
    places, start = [], 0
    for own, column in zip(card.columns, columns, strict=True):
        if own.kind == "categorical":
            at = {level: start + place for place, level in enumerate(column.levels)}
            places += [at[level] for level in own.levels] + [start + len(column.levels)] * own.lacks
        else:
            places += range(start, start + own.coordinates)
        start += column.coordinates
    places += [width - 1] * (card.kind == "number")
    known = [classes.index(name) for name in card.classes]
    centre, counts = np.zeros(width), np.zeros(len(classes))
    sums, second = np.zeros((len(classes), width)), np.zeros((width, width))
    centre[places], counts[known] = card.centre, card.counts
    sums[np.ix_(known, places)], second[np.ix_(places, places)] = card.sums, card.second
    return replace(card, columns=columns, classes=classes, centre=centre, counts=counts, sums=sums, second=second)


def _marked(columns: tuple[CardColumn, ...]) -> tuple[list[int], list[int]]:
    """Coordinates of numbers that may be missing, and those that say so."""
    values: list[int] = []
    marks: list[int] = []
    start = 0
    for column in columns:
        if column.lacks and column.kind != "categorical":
            values += range(start, start + column.width)
            marks += range(start + column.width, start + 2 * column.width)
        start += column.coordinates
    return values, marks


def _fillings(one: Card, other: Card) -> tuple[Floats, Floats]:
    """By how much missing cells of each card have to move to lie at the mean of all cells that are there.

    They lie at the mean of the card's own, which is its centre.
    """
    values, marks = _marked(one.columns)
    # Counts of cells, so that what is below a half is none.
    there, more = (np.round(card.counts.sum() * (1.0 - _means(card)[marks])) for card in (one, other))
    mean, further = _means(one)[values], _means(other)[values]
    middle = np.where(there > 0, mean + more / np.maximum(there + more, 1.0) * (further - mean), further)
    return middle - mean, middle - further


def _means(card: Card) -> Floats:
    return np.asarray(card.centre + card.sums.sum(axis=0) / max(float(card.counts.sum()), 1.0))


def _filled(card: Card, moved: Floats) -> Card:
    """The card with its missing cells moved: a linear map, about a centre that moves along."""
    if not moved.any():
        return card
    values, marks = _marked(card.columns)
    centre, sums, second = card.centre.copy(), card.sums.copy(), card.second.copy()
    centre[values] += moved * centre[marks]
    sums[:, values] += moved * sums[:, marks]
    second[values] += moved[:, None] * second[marks]
    second[:, values] += moved * second[:, marks]
    return replace(card, centre=centre, sums=sums, second=second)
