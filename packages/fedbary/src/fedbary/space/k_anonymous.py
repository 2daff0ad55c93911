"""K-anonymous rows: every sum that leaves a client is one over whole groups of them.

Two sums over almost the same rows show, by their difference, the few rows in which they differ. So a client that
sends several (means of all rows, means of classes, averages in every round) makes them all from one table, in which
no group is small: whatever two of them differ in is then a whole class of at least ``min_group`` different rows.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table, concat
from fedbary.errors import DataError
from fedbary.space.encode import category_texts
from fedbary.space.labels import class_names
from fedbary.space.limits import limits
from fedbary.space.row_identity import once, without_rare_values

Floats = NDArray[np.float64]

# Share of a sum that is rounding, and steps after which a centre has long settled.
_ROUNDING, _MOST_STEPS = 1e-12, 200
# Stands for all categories that too few rows of a class have; no description names it, so it counts as any other.
RARE = "(rare)"


def k_anonymous_rows(table: Table, kind: str, *, min_group: int) -> Table:
    """Each different row once, without what fewer than ``min_group`` rows of a class have in common.

    Left out are copies, and the rows of classes with fewer than ``min_group`` different rows (``kind`` ``number``:
    all rows are one group). Inside a class, a value that fewer than ``min_group`` rows do not share with the others
    becomes the others' (see `without_rare_values`), and rare categories become one, or the most frequent. So few
    missing numbers become a mean of ``min_group`` others, and where so few are there, none is.
    """
    if min_group <= 1:
        return table
    refuse_few(table, min_group)
    different = once(table)
    names = class_names(different.labels) if kind == "classes" else np.zeros(len(different))
    groups = [_plain(different.take(np.flatnonzero(names == name)), kind, min_group) for name in np.unique(names)]
    large = [group for group in groups if len(group) >= min_group]
    if not large:
        what = "different rows of one class" if kind == "classes" else "different rows"
        raise DataError("schema.too-few-in-a-group", where=table.origin, least=min_group, what=what)
    return concat(large)


def refuse_few(table: Table, min_group: int) -> None:
    """A table below ``min_group`` rows is no group at all."""
    if len(table) < min_group:
        raise DataError("schema.too-few-rows", where=table.origin, rows=len(table), least=min_group)


def _plain(group: Table, kind: str, min_group: int) -> Table:
    """One class without rare values; rows that became equal are one, so it is repeated until nothing changes."""
    while len(group) >= min_group:
        columns = {name: without_rare(column, min_group) for name, column in group.columns.items()}
        labels = without_rare(group.labels, min_group) if kind == "number" else group.labels
        if labels is group.labels and all(columns[name] is column for name, column in group.columns.items()):
            return group
        group = once(group.replace(columns=columns, labels=labels))
    return group


def without_rare(column: NDArray[np.generic], min_group: int) -> NDArray[np.generic]:
    """A column without what fewer than ``min_group`` rows have in common; the same array if nothing in it is rare."""
    if column.dtype.kind == "O":
        return _without_rare_texts(column, min_group)
    values = np.asarray(column, dtype=np.float64).reshape(len(column), -1)
    plain = _without_rare_holes(without_rare_values(values, min_group), min_group)
    return column if plain is values else plain.reshape(column.shape).astype(column.dtype)


def _without_rare_holes(values: Floats, min_group: int) -> Floats:
    missing = np.isnan(values).sum(axis=0)
    scarce = (missing < len(values)) & (missing > len(values) - min_group)
    few = (missing > 0) & (missing < min_group) & ~scarce
    if not (few | scarce).any():
        return values
    plain = values.copy()
    plain[:, scarce] = np.nan
    middle = limits(values[:, few], min_group=min_group).middle
    plain[:, few] = np.where(np.isnan(values[:, few]), middle, values[:, few])
    return plain


def _without_rare_texts(column: NDArray[np.generic], min_group: int) -> NDArray[np.generic]:
    texts = category_texts(column)
    counts = Counter(texts)
    rare = [count < min_group for count in map(counts.__getitem__, texts)]
    if not any(rare):
        return column
    # Fewer than min_group rows of rare categories would be a small group themselves; then some category is frequent.
    instead = RARE if sum(rare) >= min_group else max(counts, key=lambda text: (counts[text], str(text)))
    return np.array([instead if odd else text for text, odd in zip(texts, rare, strict=True)], dtype=object)


def winsorised(values: NDArray[np.generic], min_group: int) -> Floats:
    """Columns in which no cell makes up more than 1/``min_group`` of the sum of squares about the mean.

    Cells beyond b from the centre c are moved there, b the largest with min_group·b² ≤ Σ min((x − c)², b²), and c the
    mean of what comes out. Of fewer than 2·``min_group`` cells each may make up 2 / cells.
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
