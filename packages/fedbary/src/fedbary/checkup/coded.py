"""Columns as codes of their different values: what counting, comparing and finding copies stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.columns import column_of
from fedbary.columns.arrays import Array
from fedbary.data.table import Table
from fedbary.wording import dash, number, on_one_line

Codes = NDArray[np.int64]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Coded:
    """One column: its different values in the order in which they come first, and the place of each row's among them.

    A missing cell has the code −1.
    """

    codes: Codes
    values: Array

    @classmethod
    def of(cls, column: Array) -> Coded:
        """Code a column of any kind; the values of a block are its rows."""
        import pandas as pd

        if column.ndim == 2:
            clean = np.ascontiguousarray(column + 0.0)  # −0.0 and 0.0 have different bytes
            codes, _ = pd.factorize(np.array([row.tobytes() for row in clean], dtype=object))
            first = np.unique(codes, return_index=True)[1]
            return cls(np.where(np.isnan(clean).all(axis=1), -1, codes), column[first])
        found = pd.factorize(column)
        return cls(np.asarray(found[0], dtype=np.int64), np.asarray(found[1]))

    @cached_property
    def counts(self) -> Codes:
        """How many rows have each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @cached_property
    def missing(self) -> int:
        """Rows without a value."""
        return int((self.codes < 0).sum())

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers, of which there are some."""
        return self.values.ndim == 1 and self.values.dtype.kind == "f" and len(self.values) > 0

    def present(self) -> Array:
        """The value of each row that has one."""
        return self.values[self.codes[self.codes >= 0]]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table whose columns and labels are coded once, for all that look at them.

    Columns are those of the file: the month and the weekday of a date say nothing more.
    """

    table: Table
    columns: dict[str, Coded]
    labels: Coded

    @classmethod
    def of(cls, table: Table) -> CodedTable:
        """Code every column, and the labels by the names of their classes."""
        labels: Any = table.labels
        coded = Coded.of(labels)
        if labels.dtype.kind == "O":
            plain, places = np.unique([str(name).strip() for name in coded.values], return_inverse=True)
            coded = Coded(places[coded.codes].astype(np.int64), plain.astype(object))
        named = {name: column for name, column in table.columns.items() if name in table.reading or not table.reading}
        return cls(table, {name: Coded.of(column) for name, column in named.items()}, coded)

    def kind(self, name: str) -> str:
        """How a column was read, in the words of a reading."""
        if name in self.table.reading:
            return self.table.reading[name].kind
        return column_of(self.table.columns[name]).kind

    @cached_property
    def hashes(self) -> Hashes:
        """A number for every cell, by column and row, the labels last; see `cell_hashes`."""
        return cell_hashes([*self.columns.values(), self.labels])


def cell_hashes(columns: Sequence[Coded]) -> Hashes:
    """A number for every cell, by column and row; their sum stands for the row, and without one column for the rest.

    Different values have different random numbers, so that two rows agree by chance once in 10¹⁹ pairs.
    """
    rng = np.random.default_rng(0)
    drawn = [rng.integers(2**64, size=len(column.values) + 1, dtype=np.uint64) for column in columns]
    return np.stack([numbers[column.codes] for numbers, column in zip(drawn, columns, strict=True)])


def row_hashes(columns: Sequence[Coded]) -> Hashes:
    """A number for every row, the same for rows that agree in these columns."""
    return np.asarray(cell_hashes(columns).sum(axis=0, dtype=np.uint64))


def in_words(value: Any, kind: str) -> str:
    """A value of a column of that kind."""
    if isinstance(value, str):
        return on_one_line(value)
    return day(float(value)) if kind == "date" else dash(value) if kind == "boolean" else number(value)


def day(days: float) -> str:
    """The date that is so many days after 1970-01-01."""
    try:
        return str(date(1970, 1, 1) + timedelta(days=int(np.floor(days))))
    except OverflowError:
        return f"day {days:g}"
