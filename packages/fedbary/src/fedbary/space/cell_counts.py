"""Cells that lack a value or lie beyond the schema's limits: counted in one walk, and whether enough rows have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.missing import missing_by_column, missing_of
from fedbary.space.schema import ColumnSpec, Schema

Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class CellCounts:
    """What a walk over a table counted.

    Attributes
    ----------
    missing : array
        For each row, its cells without a value.
    lacking : mapping
        For each column of the schema, how many cells have no value.
    beyond : mapping
        For each column with limits, how many rows lie beyond them in each of its coordinates.
    """

    missing: Integers
    lacking: Mapping[str, int]
    beyond: Mapping[str, Integers]


class CellCounter:
    """Counts the cells of a table, a part at a time."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._missing: list[Integers] = []
        self._lacking = np.zeros(len(schema.columns), dtype=np.int64)
        self._beyond = {
            column.name: np.zeros(column.width, dtype=np.int64)
            for column in schema.columns
            if column.low and not column.bounded
        }

    def add(self, rows: Table, missing: Integers) -> None:
        """Take the next rows and their `missing_by_column`."""
        self._missing.append(missing.sum(axis=1))
        self._lacking += missing.sum(axis=0)
        for column in self._schema.columns:
            if column.name in self._beyond:
                self._beyond[column.name] += beyond(rows, column).sum(axis=0)

    def counted(self) -> CellCounts:
        """The counts of all rows that came."""
        names = [column.name for column in self._schema.columns]
        lacking = dict(zip(names, self._lacking.tolist(), strict=True))
        return CellCounts(np.concatenate(self._missing), lacking, self._beyond)


def count_cells(table: Table, schema: Schema) -> CellCounts:
    """Count the cells of a table."""
    counter = CellCounter(schema)
    for rows in table.batches():
        counter.add(rows, missing_by_column(rows, schema))
    return counter.counted()


def beyond(rows: Table, column: ColumnSpec) -> Bools:
    """Which of a column's numbers lie beyond its limits, one coordinate of it in each column."""
    numbers = np.asarray(rows.columns[column.name], dtype=np.float64).reshape(len(rows), -1)
    return np.asarray((numbers < np.array(column.low)) | (numbers > np.array(column.high)))


def told_missing(table: Table, schema: Schema, counts: CellCounts, copies: Integers, *, least: int) -> dict[str, float]:
    """The share of cells without a value in each column, where no fewer than ``least`` different rows say it.

    Where fewer lack a value none does, and where fewer have one all do. Rows that are copies of each other have the
    same number in ``copies``.
    """
    some = [column for column in schema.columns if counts.lacking[column.name]]
    lack = {column.name: partial(_lack, column) for column in some}
    have = {column.name: partial(_have, column) for column in some}
    lacked, had = (enough_different(table, copies, asked, least=least) for asked in (lack, have))
    # Where nothing is missing, all rows have a value.
    all_have = int(np.count_nonzero(np.bincount(copies))) >= least
    told = {}
    for column in schema.columns:
        share = counts.lacking[column.name] / (column.width * len(table))
        if not had.get(column.name, all_have):
            share = 1.0
        elif not lacked.get(column.name, False):
            share = 0.0
        told[column.name] = share
    return told


def _lack(column: ColumnSpec, rows: Table) -> Bools:
    return missing_of(rows, column) > 0


def _have(column: ColumnSpec, rows: Table) -> Bools:
    return missing_of(rows, column) < column.width


def enough_different(
    table: Table, copies: Integers, asked: Mapping[Key, Callable[[Table], Bools]], *, least: int
) -> dict[Key, bool]:
    """Whether each of some conditions holds for ``least`` different rows.

    The table is read as far as that is unknown.

    Examples
    --------
    >>> table = Table({"age": [30.0, 50.0, 50.0]}, ["a"] * 3)
    >>> old = lambda rows: rows.columns["age"] > 40.0
    >>> enough_different(table, np.array([0, 1, 1]), {"old": old}, least=2)
    {'old': False}
    """
    found: dict[Key, set[int]] = {key: set() for key in asked}
    start = 0
    if asked:
        for rows in table.batches():
            few = [key for key, seen in found.items() if len(seen) < least]
            if not few:
                break
            here = copies[start : start + len(rows)]
            for key in few:
                found[key].update(np.unique(here[asked[key](rows)])[:least].tolist())
            start += len(rows)
    return {key: len(seen) >= least for key, seen in found.items()}
