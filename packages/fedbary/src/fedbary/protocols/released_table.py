"""`ReleasedTable`: the rows that every exact answer of an owner is made of.

Two exact answers can be subtracted from each other. Were one made of all rows and the other without those that stand
out, what is left would be these. So all are made of one table: whatever a server asks, and however it combines the
answers, what it learns is a function of the released rows alone. A row that is not among them is in no answer.

Rows are left out, or made like the others, where few would stand out: in a class, in a column, in a cell, and, by their
leverage, in any combination of columns. That stops attacks that are known (docs/cards.md) and proves nothing about rows
that are released.

Whoever has a card of them (`guarded_card`) knows ⟨v, Q v⟩ and Qv for every combination v of coordinates and class
indicators. Where all but a few rows have the same ⟨v, z⟩, Qv is a sum over those few: a single 1 in a 0/1 column makes
its row of Q that whole row. So it has no products of columns that few rows have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import PrivacyError
from fedbary.protocols.cards.card import Card, CardColumn, laid_out
from fedbary.protocols.cards.exact_card import (
    MOST_COORDINATES,
    by_name,
    card_of_rows,
    card_points,
    class_codes,
    narrowed,
)
from fedbary.space.description import names_of_rows
from fedbary.space.row_identity import RARE, k_anonymous_rows, once, winsorised, without_rare

Floats = NDArray[np.float64]

# Fewer rows than this for each coordinate could be solved for by what is known of their cells (whole numbers, levels).
_ROWS_PER_COORDINATE = 5
# Among five rows for each coordinate the mean leverage is at most 1/5. With a limit near that, Dry Bean's smallest
# class lost 11 of 16 rows; with this one it keeps all or most.
_MOST_LEVERAGE = 0.5
# Share of the rows that stay where a person has only so many.
_STAY = 0.9
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """Rows that may be summed over in what leaves their owner, and how many must be behind each sum.

    Parameters
    ----------
    rows : Table
        The released rows; without ids.
    kind : {"classes", "number"}
        The label's kind, by which they were chosen.
    least : int
        Fewest of them behind anything that leaves; 1 where the server is trusted.
    places : array of int
        Which rows of the owner's table they are.
    declared : int
        How many rows the owner's table had when they were chosen.
    each : int
        Most of them that are one person's; so many times more must be behind anything, for as many persons to be.
    naming : frozenset of str
        Columns of texts that name rows: nothing but that they exist is in ``rows``, and no card has them.
    products : bool
        Whether a card may tell products of different columns, if there are rows enough.
    """

    rows: Table
    kind: str
    least: int
    places: NDArray[np.int64]
    declared: int
    each: int = 1
    naming: frozenset[str] = frozenset()
    products: bool = True

    @classmethod
    def whole(cls, table: Table, kind: str, min_group: int = 1) -> ReleasedTable:  # noqa: ARG003 - a `Release`
        """All rows as they are, for a server that is trusted."""
        return cls(table, kind, 1, np.arange(len(table)), len(table), naming=names_of_rows(table))

    @classmethod
    def guarded(cls, table: Table, kind: str, min_group: int) -> ReleasedTable:
        """The rows without what fewer than ``min_group`` of them could be read off from.

        Each different row is there once. Left out are classes of fewer rows, values that fewer rows do not share with
        the others (of a class, or of the table), levels that fewer have, cells as far as they make up more than
        1/``min_group`` of a column's sum of squares, and, with five rows for each coordinate, rows that a combination
        of columns could single out.

        Where persons are known, it is persons that count: of each there are rows up to a number that leaves nine of
        ten rows in, and any group is so many times larger.
        """
        naming = names_of_rows(table)
        nothing = np.full(len(table), RARE, dtype=object)
        columns = {name: nothing if name in naming else values for name, values in table.columns.items()}
        whole, each = _fewer_of_each(table.replace(columns=columns, ids=np.arange(len(table))))
        least = min_group * each
        while True:
            rows = _without_large_cells(_common_rows(whole, kind, least), kind, least)
            if least < 2:
                break
            rows = rows.take(np.flatnonzero(~stand_out(rows, kind, least, each)))
            if len(rows) == len(whole):
                break
            # Again from what the others were: a cell that was moved by a row that is left out would tell of it.
            whole = whole.take(np.flatnonzero(np.isin(whole.row_names, rows.row_names)))
        order = np.argsort(rows.row_names)
        rows, places = rows.take(order), np.asarray(rows.row_names, dtype=np.int64)[order]
        same = len(rows) == len(table) and all(
            np.array_equal(rows.columns[name], values, equal_nan=values.dtype.kind == "f")
            for name, values in table.columns.items()
        )
        same = same and np.array_equal(rows.labels, table.labels)
        return cls(table if same else rows.replace(ids=None), kind, least, places, len(table), each, naming)

    def as_a_card(self, part: Table) -> Table:
        """Some of the rows as a card has them: columns in the order of their names, very wide blocks narrowed."""
        if self.naming:
            kept = {name: values for name, values in part.columns.items() if name not in self.naming}
            part = part.replace(columns=kept)
        return narrowed(by_name(part))


Release = Callable[[Table, str, int], ReleasedTable]


class OneRelease:
    """The one released table of a client, made when the first exact answer needs it: all rows for a trusted server.

    With the label once as classes and once as a number, two sums would differ by the rows of small classes.
    """

    def __init__(self, table: Table, release: Release | None, *, min_group: int, trusted: bool = False) -> None:
        self._table, self._min_group = table, min_group
        self._release = ReleasedTable.whole if trusted else release or ReleasedTable.guarded
        self._made: ReleasedTable | None = None
        self.kind = ""

    def of(self, kind: str) -> ReleasedTable:
        """The released rows, for a label of this kind."""
        if self.kind not in ("", kind):
            raise PrivacyError("protocols.label-kind-changed", kind=kind, first=self.kind)
        self.kind = kind
        if self._made is None:
            self._made = self._release(self._table, kind, self._min_group)
        return self._made


def points_of(rows: Table, kind: str) -> tuple[NDArray[np.int64], Floats]:
    """The class of each row as a number, and its coordinates in a card."""
    _, points = card_points(rows, unnamed=RARE)
    if kind == "number":
        points = np.column_stack([points, np.asarray(rows.labels, dtype=float)])
    return class_codes(rows, kind)[1], points


def enough_rows(points: Floats, each: int) -> bool:
    """Whether there are five rows for each coordinate that varies, and as many times more as a person has."""
    varying = int((points != points[0]).any(axis=0).sum())
    return len(points) >= _ROWS_PER_COORDINATE * varying * each


def _fewer_of_each(table: Table) -> tuple[Table, int]:
    """The table with no more than some rows of any person, and how many these are: nine of ten rows stay."""
    if table.persons is None:
        return table, 1
    order = np.argsort(table.persons, kind="stable")
    _, first, counts = np.unique(table.persons[order], return_index=True, return_counts=True)
    each = next(most for most in range(1, len(table) + 1) if np.minimum(counts, most).sum() >= _STAY * len(table))
    rank = np.empty(len(table), dtype=np.int64)
    rank[order] = np.arange(len(table)) - np.repeat(first, counts)
    return table.take(np.flatnonzero(rank < each)), each


def _common_rows(table: Table, kind: str, min_group: int) -> Table:
    """Different rows without values that few of them have: of a class, and, as classes may be small, of the table."""
    while True:
        rows = k_anonymous_rows(table, kind, min_group=min_group) if min_group > 1 else once(table)
        columns = {name: without_rare(column, min_group) for name, column in rows.columns.items()}
        if all(columns[name] is column for name, column in rows.columns.items()):
            return rows
        table = rows.replace(columns=columns)


def _without_large_cells(rows: Table, kind: str, min_group: int) -> Table:
    columns = {
        name: values if values.dtype.kind in "Ob" else winsorised(values, min_group)
        for name, values in rows.columns.items()
    }
    labels = winsorised(rows.labels, min_group) if kind == "number" else rows.labels
    return rows.replace(columns=columns, labels=labels)


def stand_out(rows: Table, kind: str, min_group: int, each: int) -> NDArray[np.bool_]:
    """Rows that make up half of the sum of squares of some combination of columns, or more.

    The most that a row makes up of any is its leverage: ⟨z, Q⁺ z⟩ about the class means, as class sums are known, too.
    Where g rows alone have something in common it is at least 1/g. Of a very wide block a card has directions, in which
    a cell may be large that was none of the block's.
    """
    codes, points = points_of(narrowed(by_name(rows)), kind)
    large = np.zeros(len(points), dtype=bool)
    if any(values.ndim == 2 and values.shape[1] > MOST_COORDINATES for values in rows.columns.values()):
        large = (winsorised(points, min_group) != points).any(axis=1)
    if not enough_rows(points, each):
        return large
    classes = codes.max() + 1
    counts = np.bincount(codes, minlength=classes)
    means = np.zeros((classes, points.shape[1]))
    np.add.at(means, codes, points - points.mean(axis=0))
    centred = points - points.mean(axis=0) - (means / counts[:, None])[codes]
    scale = np.sqrt((centred**2).sum(axis=0))
    centred = centred[:, scale > 0] / scale[scale > 0]
    values, vectors = np.linalg.eigh(centred.T @ centred)
    kept = values > _ROUNDING * max(len(values), 1)
    leverage = ((centred @ (vectors[:, kept] / np.sqrt(values[kept]))) ** 2).sum(axis=1)
    return np.asarray(large | (leverage > _MOST_LEVERAGE / each - _ROUNDING))


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
    few = (both > 0.5) & (both < min_group - 0.5)
    binary = np.outer(two[at], two[at])
    for cell in (each[:, None] - both, each[None, :] - both, count - each[:, None] - each[None, :] + both):
        few |= binary & (cell > 0.5) & (cell < min_group - 0.5)
    np.fill_diagonal(few, val=False)
    # Coordinates of levels are one column; every other coordinate is a column of its own.
    column_of = np.arange(width)
    for column, own, marks in laid_out(columns):
        if column.kind == "categorical":
            column_of[own.start : marks.stop] = own.start
    member = np.equal.outer(np.unique(column_of), column_of[at]).astype(np.float64)
    few = (member.T @ ((member @ few @ member.T) > 0) @ member) > 0
    untold = np.zeros((width, width), dtype=bool)
    untold[np.ix_(at, at)] = few & (column_of[at][:, None] != column_of[at][None, :])
    return untold
