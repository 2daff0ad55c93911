"""K-anonymous rows: every sum that leaves a client is one over whole groups of them.

Two sums over almost the same rows show, by their difference, the few rows in which they differ. So a client that
sends several (means of all rows, means of classes, averages in every round) makes them all from one table, in which
no group is small: whatever two of them differ in is then a whole class of at least ``min_group`` different rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.space.encode import category_texts
from fedbary.space.labels import class_names
from fedbary.space.limits import limits
from fedbary.space.row_identity import different_rows, without_rare_values

Floats = NDArray[np.float64]

# Stands for all categories that too few rows of a class have; no description names it, so it counts as any other.
RARE = "(rare)"


def k_anonymous_rows(table: Table, kind: str, *, min_group: int) -> Table:
    """Each different row once, without what fewer than ``min_group`` rows of a class have in common.

    Left out are copies, and the rows of classes with fewer than ``min_group`` different rows (``kind`` ``number``:
    all rows are one group). Inside a class, a value that fewer than ``min_group`` rows do not share with the others
    becomes the others' (see `without_rare_values`), and rare categories become one, or the most frequent. So few
    missing numbers become a mean of ``min_group`` others, and where so few are there, none is.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.space.k_anonymous import k_anonymous_rows
    >>> table = fb.Table.from_arrays([[1.0], [2.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b", "c"])
    >>> k_anonymous_rows(table, "classes", min_group=2).columns["x"].ravel()
    array([1., 2.])
    """
    if min_group <= 1:
        return table
    refuse_few(table, min_group)
    different = different_rows(table)
    names = class_names(different.labels) if kind == "classes" else np.zeros(len(different))
    groups = [_plain(different.take(np.flatnonzero(names == name)), kind, min_group) for name in np.unique(names)]
    large = [group for group in groups if len(group) >= min_group]
    if not large:
        what = "different rows of one class" if kind == "classes" else "different rows"
        raise DataError("schema.too-few-in-a-group", where=table.origin, least=min_group, what=what)
    return _stacked(large)


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
        group = different_rows(group.replace(columns=columns, labels=labels))
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


def _stacked(groups: Sequence[Table]) -> Table:
    first = groups[0]
    return first.replace(
        columns={name: np.concatenate([group.columns[name] for group in groups]) for name in first.columns},
        labels=np.concatenate([group.labels for group in groups]),
    )
