"""`guarded_card`: the card of released rows, without products of columns that few rows have in common.

Whoever has a card knows ⟨v, Q v⟩ and Qv for every combination v of coordinates and class indicators. Where all but a
few rows have the same ⟨v, z⟩, Qv is a sum over those few: a single 1 in a 0/1 column makes its row of Q that whole
row. `fedbary.protocols.released_table` leaves out rows that stand out; here it is pairs of columns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.card import Card, CardColumn
from fedbary.protocols.cards.exact_card import card_of_rows, card_points
from fedbary.protocols.released_table import ReleasedTable, enough_rows, points_of, stand_out
from fedbary.space.row_identity import RARE

Floats = NDArray[np.float64]


def guarded_card(released: ReleasedTable) -> Card:
    """The card of released rows: products of different columns only with five rows for each coordinate.

    Products of columns that fewer than ``least`` rows both have are left out.
    """
    rows = released.as_a_card(released.rows)
    card = card_of_rows(rows, released.kind, unnamed=RARE)
    _, points = points_of(rows, released.kind)
    if released.products and enough_rows(points, released.each) and not _one_stands_out(released):
        return replace(card, second=_told_products(card, points, released.least))
    return replace(card, second=np.diag(card.second).copy())


def is_plain(released: ReleasedTable) -> bool:
    """Whether the rows are enough for all products of different columns to be told."""
    rows = released.as_a_card(released.rows)
    columns, points = card_points(rows, unnamed=RARE)
    enough = enough_rows(points_of(rows, released.kind)[1], released.each)
    few = _few_have_both(points, columns, released.least).any()
    return enough and not few and not _one_stands_out(released)


def _one_stands_out(released: ReleasedTable) -> bool:
    """Whether a combination of columns singles out a row that came with too few others for that to be looked at."""
    return bool(stand_out(released.rows, released.kind, released.least, released.each).any())


def _told_products(card: Card, points: Floats, min_group: int) -> Floats:
    """The second moment, without correlation of coordinates of which few rows have both; positive semi-definite."""
    untold = _few_have_both(points, card.columns, min_group)
    if not untold.any():
        return card.second
    scale = np.sqrt(np.diag(card.second))
    safe = np.where(scale > 0, scale, 1.0)
    correlation = np.where(untold, 0.0, card.second / np.outer(safe, safe))
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < 0:
        # The nearest in the manner of Rebonato and Jäckel: no negative eigenvalue, and the variances as they were.
        correlation = (vectors * np.maximum(values, 0.0)) @ vectors.T
        size = np.sqrt(np.diag(correlation))
        size = np.where(size > 0, size, 1.0)
        correlation /= np.outer(size, size)
    return np.asarray(correlation * np.outer(scale, scale))


def _few_have_both(points: Floats, columns: tuple[CardColumn, ...], min_group: int) -> NDArray[np.bool_]:
    """Pairs of coordinates for which 1 … ``min_group`` − 1 rows have both; of 0/1 columns also one and not the other.

    A coordinate is had by the rows that differ from what most rows share. Levels of a column exclude each other, so
    what one pair of them hides the others tell by subtraction: all pairs of the two columns are untold.
    """
    count, width = points.shape
    least, most = points.min(axis=0), points.max(axis=0)
    two = ((points == least) | (points == most)).all(axis=0) & (least < most)
    middle = np.partition(points, count // 2, axis=0)[count // 2]
    shared = 2 * (points == middle).sum(axis=0) > count
    at = np.flatnonzero((two | shared) & (least < most))
    has = np.where(two[at], points[:, at] == most[at], points[:, at] != middle[at]).astype(np.float64)
    both, each = has.T @ has, has.sum(axis=0)
    few = _is_few(both, min_group)
    binary = np.outer(two[at], two[at])
    for cell in (each[:, None] - both, each[None, :] - both, count - each[:, None] - each[None, :] + both):
        few |= binary & _is_few(cell, min_group)
    np.fill_diagonal(few, val=False)
    column_of = _columns_of(columns, width)
    member = np.equal.outer(np.unique(column_of), column_of[at]).astype(np.float64)
    few = (member.T @ ((member @ few @ member.T) > 0) @ member) > 0
    untold = np.zeros((width, width), dtype=bool)
    untold[np.ix_(at, at)] = few & (column_of[at][:, None] != column_of[at][None, :])
    return untold


def _is_few(rows: Floats, min_group: int) -> NDArray[np.bool_]:
    return np.asarray((rows > 0.5) & (rows < min_group - 0.5))


def _columns_of(columns: tuple[CardColumn, ...], width: int) -> NDArray[np.int64]:
    """Which coordinates are one column of levels; every other coordinate is a column of its own."""
    places = np.arange(width)
    start = 0
    for column in columns:
        if column.kind == "categorical":
            places[start : start + column.coordinates] = start
        start += column.coordinates
    return places
