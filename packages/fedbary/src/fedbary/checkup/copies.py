"""Rows that repeat others: in every cell, in all but one, or but for rounding.

Rows of a few categories repeat each other by chance. Copies are found only among rows that agree in more than chance
explains: a value that a share p of the rows has says −log₂ p bits, and two rows of n agree by chance in hardly more
than 2·log₂ n of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.checkup.coded import Coded, CodedTable, Hashes, row_hashes
from fedbary.checkup.findings import Facts, Look, Severity
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


class Rows:
    """The rows of a table by their hashes, and how much each cell says."""

    def __init__(self, coded: CodedTable) -> None:
        self.names, self.columns, self.labels = list(coded.columns), list(coded.columns.values()), coded.labels
        self.cells, self.label, self.bits = coded.hashes[:-1], coded.hashes[-1], _bits(self.columns)
        self.keys, self.together = self.cells.sum(axis=0), self.bits.sum(axis=0)
        self.needed = (2 * np.log2(max(len(self.label), 2)) + _MARGIN) / _OWN_SHARE

    @cached_property
    def same(self) -> Mask:
        """Rows that another one repeats in every cell, by more than chance."""
        found: Mask = _repeats(self.keys) & (self.together >= self.needed)
        return found

    @cached_property
    def other_label(self) -> Mask:
        """Those of them of which not all have one label."""
        return self.same & ~_all_alike(self.keys, self.label)

    @cached_property
    def but_one(self) -> tuple[Mask, dict[str, int]]:
        """Rows that are the same as another but for one column, and how many differ in each."""
        found, differing = np.zeros(len(self.keys), dtype=bool), {}
        for name, own, said in zip(self.names, self.cells, self.bits, strict=True):
            rest = self.keys - own + self.label
            near = _repeats(rest) & (self.together - said >= self.needed)
            if near.any():
                near &= ~_all_alike(rest, self.keys)
                differing[name] = int(near.sum())
                found |= near
        return found, differing


def _rows(coded: CodedTable, schema: Schema | None) -> list[Rows]:  # noqa: ARG001 - as all parts
    return [Rows(coded)]


COPIES = Look(_rows)


@COPIES.issue("checkup.copies", Severity.DOUBTFUL)
def _copies(rows: Rows) -> Iterator[Facts]:
    later = _repeats(rows.keys, but_first=True)
    if (count := int((rows.same & ~rows.other_label & later).sum())) >= _LEAST_ROWS:
        yield {"count": count}


@COPIES.issue("checkup.copies-with-other-labels", Severity.DOUBTFUL)
def _other_labels(rows: Rows) -> Iterator[Facts]:
    if count := int(rows.other_label.sum()):
        yield {"count": count}


@COPIES.issue("checkup.copies-but-one-column", Severity.DOUBTFUL)
def _but_one_column(rows: Rows) -> Iterator[Facts]:
    found, differing = rows.but_one
    if (count := int(found.sum())) >= _LEAST_ROWS:
        yield {"count": count, "column": max(differing, key=lambda name: differing[name])}


@COPIES.issue("checkup.copies-but-rounding", Severity.DOUBTFUL)
def _but_rounding(rows: Rows) -> Iterator[Facts]:
    """Rows that are another one rounded, or the other way round."""
    rounded = [_rounded(column) for column in rows.columns]
    coarse = row_hashes([*rounded, rows.labels])
    near = _repeats(coarse) & (_bits(rounded).sum(axis=0) >= rows.needed) & ~rows.but_one[0]
    near &= ~_all_alike(coarse, rows.keys)
    groups: dict[int, list[int]] = {}
    for row in np.flatnonzero(near)[:_MOST_COMPARED].tolist():
        groups.setdefault(int(coarse[row]), []).append(row)
    found: set[int] = set()
    for first, *others in groups.values():
        found |= {row for other in others if _is_rounding(rows.columns, first, other) for row in (first, other)}
    if len(found) >= _LEAST_ROWS:
        yield {"count": len(found)}


def _bits(columns: Sequence[Coded]) -> NDArray[np.float32]:
    """What each cell says, by column and row: the rarer a value, the more; nothing where it is missing."""
    said = []
    for column in columns:
        shares = np.append(column.counts, len(column.codes)) / len(column.codes)
        said.append(-np.log2(shares).astype(np.float32)[column.codes])
    return np.stack(said)


def _rounded(column: Coded) -> Coded:
    """A column of numbers that are rounded to a power of ten, some thirty different ones."""
    if not column.is_number or len(column.values) < 2:
        return column
    step = 10.0 ** np.floor(np.log10(float(np.std(column.present())) / _STEPS))
    coarse = Coded.of(np.round(column.values / step))
    return Coded(np.where(column.codes < 0, -1, coarse.codes[column.codes]), coarse.values)


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


def _repeats(keys: Hashes, *, but_first: bool = False) -> Mask:
    """Rows whose key another one has, or an earlier one."""
    import pandas as pd

    return np.asarray(pd.Series(keys).duplicated(keep="first" if but_first else False))


def _all_alike(keys: Hashes, facts: Hashes) -> Mask:
    """Rows of whose key all rows agree in another number."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    differs = facts != facts[first][group]
    return ~(np.bincount(group, weights=differs) > 0)[group]
