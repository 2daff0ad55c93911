"""Rows that repeat others: in every cell, in all but one, or but for rounding.

Rows of a few categories repeat each other by chance. Copies are found only among rows that agree in more than chance
explains: a value that a share p of the rows has says −log₂ p bits, and two rows of n agree by chance in hardly more
than 2·log₂ n of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.checkup.coded import Coded, CodedTable, Hashes, row_hashes
from fedbary.checkup.finding import Finding, Severity
from fedbary.notes import Note
from fedbary.space.schema import Schema

Mask = NDArray[np.bool_]

# Columns say in part what others say already: of their bits together this share counts.
_OWN_SHARE = 2 / 3
# Bits beyond those that two rows of a table share by chance.
_MARGIN = 3.0
# Rounding that leaves so many steps to a standard deviation at least tells most rows apart.
_STEPS = 3
_LEAST_ROWS = 2
# Rows that are compared one by one.
_MOST_COMPARED = 10_000


def repeated_rows(coded: CodedTable) -> int:
    """How many rows repeat an earlier one in every cell and the label.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> repeated_rows(CodedTable.of(Table({"age": [31, 31, 45]}, ["a", "a", "b"])))
    1
    """
    return len(coded.table) - len(np.unique(coded.hashes.sum(axis=0)))


def copied_rows(coded: CodedTable, schema: Schema | None) -> list[Finding]:  # noqa: ARG001 - as all that look
    r"""Copies, copies with another label, and rows that are the same but for one column or for rounding.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> cells = np.random.default_rng(0).normal(size=(50, 6))
    >>> twice = np.vstack([cells, cells[:4]])
    >>> labels = ["a", "b"] * 25 + ["b", "a", "a", "b"]
    >>> table = Table(dict(zip("uvwxyz", twice.T)), labels)
    >>> print(*copied_rows(CodedTable.of(table), None), sep="\n")
    2 rows repeat an earlier one in every cell: keep one of each
    4 rows have the same features as another and another label: check their labels
    """
    columns = list(coded.columns.values())
    names = list(coded.columns)
    cells, label, bits = coded.hashes[:-1], coded.hashes[-1], _bits(columns)
    rows = cells.sum(axis=0)
    needed = (2 * np.log2(max(len(label), 2)) + _MARGIN) / _OWN_SHARE
    together = bits.sum(axis=0)
    found = []
    same = _repeats(rows) & (together >= needed)
    other_label = same & ~_all_alike(rows, label)
    if (count := int((same & ~other_label & _later(rows)).sum())) >= _LEAST_ROWS:
        found.append(Note("checkup.copies", {"count": count}))
    if count := int(other_label.sum()):
        found.append(Note("checkup.copies-with-other-labels", {"count": count}))
    but_one = np.zeros(len(rows), dtype=bool)
    differing: dict[str, int] = {}
    for name, own, said in zip(names, cells, bits, strict=True):
        rest = rows - own + label
        near = _repeats(rest) & (together - said >= needed)
        if near.any():
            near &= ~_all_alike(rest, rows)
            differing[name] = int(near.sum())
            but_one |= near
    if (count := int(but_one.sum())) >= _LEAST_ROWS:
        most = max(differing, key=lambda name: differing[name])
        found.append(Note("checkup.copies-but-one-column", {"count": count, "column": most}))
    rounded = [_rounded(column) for column in columns]
    coarse = row_hashes([*rounded, coded.labels])
    near = _repeats(coarse) & (_bits(rounded).sum(axis=0) >= needed) & ~but_one
    near &= ~_all_alike(coarse, rows)
    if (count := _rounded_copies(columns, coarse, near)) >= _LEAST_ROWS:
        found.append(Note("checkup.copies-but-rounding", {"count": count}))
    return [Finding(note, Severity.DOUBTFUL) for note in found]


def _bits(columns: Sequence[Coded]) -> NDArray[np.float32]:
    """What each cell says, by column and row: the rarer a value, the more; nothing where it is missing."""
    said = []
    for column in columns:
        shares = np.append(column.counts, len(column.codes)) / len(column.codes)
        said.append(-np.log2(shares).astype(np.float32)[column.codes])
    return np.stack(said)


def _rounded(column: Coded) -> Coded:
    """A column of numbers that are rounded to a power of ten, some thirty different ones."""
    if column.values.ndim != 1 or column.values.dtype.kind != "f" or len(column.values) < 2:
        return column
    spread = float(np.std(column.values[column.codes[column.codes >= 0]]))
    step = 10.0 ** np.floor(np.log10(spread / _STEPS))
    coarse = Coded.of(np.round(column.values / step))
    return Coded(np.where(column.codes < 0, -1, coarse.codes[column.codes]), coarse.values)


def _rounded_copies(columns: Sequence[Coded], keys: Hashes, near: Mask) -> int:
    """How many of the rows that are near another of their key are that one rounded, or the other way round."""
    groups: dict[int, list[int]] = {}
    for row in np.flatnonzero(near)[:_MOST_COMPARED].tolist():
        groups.setdefault(int(keys[row]), []).append(row)
    found = set()
    for first, *others in groups.values():
        found |= {row for other in others if _is_rounding(columns, first, other) for row in (first, other)}
    return len(found)


def _is_rounding(columns: Sequence[Coded], one: int, other: int) -> bool:
    """Whether two rows are the same, once their numbers have as few decimals as the other's."""
    for column in columns:
        places = column.codes[[one, other]]
        if places[0] == places[1]:
            continue
        fine, coarse = sorted(column.values[places].tolist(), key=_decimals, reverse=True)
        if _decimals(fine) == _decimals(coarse) or abs(fine - coarse) > 0.5000001 * 10.0 ** -_decimals(coarse):
            return False
    return True


def _decimals(value: float) -> int:
    """How many decimals a number is written with."""
    return len(np.format_float_positional(value, trim="-").partition(".")[2])


def _repeats(keys: Hashes) -> Mask:
    """Rows whose key another one has."""
    import pandas as pd

    return np.asarray(pd.Series(keys).duplicated(keep=False))


def _later(keys: Hashes) -> Mask:
    """Rows whose key an earlier one has."""
    import pandas as pd

    return np.asarray(pd.Series(keys).duplicated())


def _all_alike(keys: Hashes, facts: Hashes) -> Mask:
    """Rows of whose key all rows agree in another number."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    differs = facts != facts[first][group]
    return ~(np.bincount(group, weights=differs) > 0)[group]
