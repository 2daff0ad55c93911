"""`guarded_card`: an exact card from which what single rows could be read off is left out.

Whoever has a card knows ⟨v, Q v⟩ and Qv for every combination v of coordinates and class indicators. Where all but a
few rows have the same ⟨v, z⟩, Qv is a sum over those few: a single 1 in a 0/1 column makes its row of Q that whole
row. So the guards keep few rows from standing out: in a class, in a column, in a pair of columns, in a cell, and, by
their leverage, in any combination of columns. They stop attacks that are known (docs/cards.md) and prove nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.protocols.cards.card import Card, CardColumn
from fedbary.protocols.cards.exact_card import card_of_rows, card_points, class_codes, exact_card
from fedbary.space.k_anonymous import RARE, k_anonymous_rows, without_rare
from fedbary.space.labels import label_kind
from fedbary.space.options import Task
from fedbary.space.row_identity import different_rows

Floats = NDArray[np.float64]

# Fewer rows than this for each coordinate could be solved for by what is known of their cells (whole numbers, levels).
_ROWS_PER_COORDINATE = 5
# Among five rows for each coordinate the mean leverage is at most 1/5. With a limit near that, Dry Bean's smallest
# class lost 11 of 16 rows; with this one it keeps all or most.
_MOST_LEVERAGE = 0.5
_ROUNDING = 1e-12
_MOST_STEPS = 200


def guarded_card(
    table: Table,
    *,
    name: str = "",
    min_group: int = 5,
    trust_server: bool = False,
    shared: bool = False,
    task: Task = "auto",
) -> Card:
    """The card of a table without what fewer than ``min_group`` different rows could be read off from.

    Left out are classes of fewer different rows, values that fewer rows do not share with the others (of a class, or of
    the table), levels that fewer rows have, cells as far as they make up more than 1/``min_group`` of a column's sum
    of squares, and products of columns where fewer rows have both. Products of different columns are told only with
    five rows for each coordinate, and then without rows that a combination of columns could single out, unless
    ``trust_server``.

    Examples
    --------
    >>> import fedbary as fb
    >>> alone = [0.0] * 39 + [1.0]
    >>> table = fb.Table({"age": range(40), "rare": alone}, ["a", "b"] * 20)
    >>> card = guarded_card(table)
    >>> card.full, card.second[1]
    (True, array([0., 0.]))
    """
    kind = label_kind(table.labels, task, name=table.label_name)
    rows = released_rows(table, kind, min_group=min_group, trust_server=trust_server)
    card = card_of_rows(rows, kind, unnamed=RARE)
    _, points = _points(rows, kind)
    if trust_server or _enough_rows(points):
        card = replace(card, second=_told_products(card, points, min_group))
    else:
        card = replace(card, second=np.diag(card.second).copy())
    return replace(card, name=name, rows=len(table), shared=shared)


def is_plain(table: Table, kind: str, *, min_group: int) -> bool:
    """Whether guards leave a table's card as it is, products of columns included."""
    task: Task = "regression" if kind == "number" else "classification"
    exact = exact_card(table, task=task)
    try:
        guarded = guarded_card(table, min_group=min_group, task=task)
    except DataError:
        return False
    same = (guarded.columns, guarded.classes, guarded.full) == (exact.columns, exact.classes, True)
    arrays = ("counts", "sums", "second")
    return same and all(np.allclose(getattr(guarded, name), getattr(exact, name)) for name in arrays)


def released_rows(table: Table, kind: str, *, min_group: int, trust_server: bool = False) -> Table:
    """The rows that a guarded card is made of; those that stand out are left out, or made like the others."""
    rows = table
    while True:
        rows = _without_large_cells(_common_rows(rows, kind, min_group), kind, min_group)
        codes, points = _points(rows, kind)
        if trust_server or min_group < 2 or not _enough_rows(points):
            return rows
        plain = ~_stand_out(points, codes)
        if plain.all():
            return rows
        rows = rows.take(np.flatnonzero(plain))


def _points(rows: Table, kind: str) -> tuple[NDArray[np.int64], Floats]:
    _, points = card_points(rows, unnamed=RARE)
    if kind == "number":
        points = np.column_stack([points, np.asarray(rows.labels, dtype=float)])
    return class_codes(rows, kind)[1], points


def _enough_rows(points: Floats) -> bool:
    varying = int((points != points[0]).any(axis=0).sum())
    return len(points) >= _ROWS_PER_COORDINATE * varying


def _common_rows(table: Table, kind: str, min_group: int) -> Table:
    """Different rows without values that few of them have: of a class, and, as classes may be small, of the table."""
    while True:
        rows = k_anonymous_rows(table, kind, min_group=min_group) if min_group > 1 else different_rows(table)
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


def winsorised(values: NDArray[np.generic], min_group: int) -> Floats:
    """Columns in which no cell makes up more than 1/``min_group`` of the sum of squares about the mean.

    Cells beyond b from the centre c are moved there, b the largest with min_group·b² ≤ Σ min((x − c)², b²), and c the
    mean of what comes out. Of fewer than 2·``min_group`` cells each may make up 2 / cells.

    Examples
    --------
    >>> winsorised(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1000.0]), 3).max().round(1).item()
    9.8
    """
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    there = np.maximum((~np.isnan(numbers)).sum(axis=0), 1)
    fewest = np.minimum(float(min_group), there / 2.0)
    centred = np.nan_to_num(numbers - np.nansum(numbers, axis=0) / there)
    large = np.abs(centred).max(axis=0, initial=0.0) ** 2 * fewest > (centred**2).sum(axis=0) * (1.0 + _ROUNDING)
    if not large.any():
        return numbers.reshape(values.shape)
    plain = numbers.copy()
    plain[:, large] = _clipped(numbers[:, large], fewest[large], min_group)
    return plain.reshape(values.shape)


def _clipped(numbers: Floats, fewest: Floats, min_group: int) -> Floats:
    holes = np.isnan(numbers)
    there = (~holes).sum(axis=0)
    centre, clipped = np.nanmedian(numbers, axis=0), numbers
    for _ in range(_MOST_STEPS):
        bound = _largest_deviation(np.where(holes, 0.0, np.abs(numbers - centre)), fewest, min_group)
        clipped = np.clip(numbers, centre - bound, centre + bound)
        moved = np.where(holes, 0.0, clipped - centre).sum(axis=0) / there
        centre = centre + moved
        if (np.abs(moved) <= _ROUNDING * bound).all():
            break
    return clipped


def _largest_deviation(deviations: Floats, fewest: Floats, min_group: int) -> Floats:
    """For each column the largest b with fewest·b² ≤ Σ min(deviation², b²); infinite where it cuts off nothing.

    With the t largest cells cut off it is b² = (sum of the other squares) / (fewest − t), for the first t where those
    others do not exceed it.
    """
    kept = min(min_group + 1, len(deviations))
    largest = np.flip(np.sort(np.partition(deviations**2, -kept, axis=0)[-kept:], axis=0), axis=0)
    rest = (deviations**2).sum(axis=0)
    bound = np.full(len(rest), np.nan)
    for cut, square in enumerate(largest):
        share = fewest - cut
        fits = np.isnan(bound) & ((share <= 0) | (square * share <= rest * (1.0 + _ROUNDING)))
        bound[fits] = np.inf if cut == 0 else np.sqrt(rest[fits] / np.maximum(share[fits], _ROUNDING))
        rest = np.maximum(rest - square, 0.0)
    return bound


def _stand_out(points: Floats, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows that make up half of the sum of squares of some combination of columns, or more.

    The most that a row makes up of any is its leverage: ⟨z, Q⁺ z⟩ about the class means, as class sums are known, too.
    Where g rows alone have something in common it is at least 1/g.
    """
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
    return np.asarray(leverage > _MOST_LEVERAGE - _ROUNDING)


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
