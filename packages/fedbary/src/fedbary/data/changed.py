"""`changed`: a table with other columns, made a part at a time where it is large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array
from fedbary.data.table import PART, Table

Change = Callable[[Table], Table]


def changed(table: Table, change: Change) -> Table:
    """What ``change`` makes of a table's columns.

    A change looks at each row by itself, so that it does not matter which rows are in memory together. A table of more
    than one part stays what it is, and its parts are changed whenever they are read.
    """
    if len(table) <= PART:
        return change(table)
    kept = {one.name: getattr(table, one.name) for one in fields(Table)}
    return ChangedTable(**{**kept, "columns": ChangedColumns(table, change)})


@dataclass(frozen=True, eq=False)
class ChangedColumns(Mapping[str, Array]):
    """The columns of a changed table; each is put together when somebody asks for all of it."""

    source: Table
    change: Change

    def __getitem__(self, name: str) -> Array:
        return np.concatenate([self.change(part).columns[name] for part in self.source.batches()])

    def __iter__(self) -> Iterator[str]:
        return iter(self.change(self.source.head()).columns)

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True, eq=False)
class ChangedTable(Table):
    """A large table of which every part is changed when it is read."""

    columns: ChangedColumns

    def __post_init__(self) -> None:
        """Labels and ids were checked with the table that they come from, and columns are with each part."""

    def head(self) -> Table:
        """A row or more in memory, by which its columns are known."""
        return self.columns.change(self.columns.source.head())

    def batches(self, rows: int = PART) -> Iterator[Table]:
        """The table in parts of so many rows, in order; each is made when it is asked for."""
        yield from map(self.columns.change, self.columns.source.batches(rows))

    def take(self, rows: npt.ArrayLike) -> Table:
        """Keep the rows at these positions, or those marked True in a mask of all rows."""
        return changed(self.columns.source.take(rows), self.columns.change)

    def replace(self, **changes: Any) -> Table:
        """Return a copy with some fields changed; with other columns it is a table in memory."""
        if "columns" not in changes:
            return changed(self.columns.source.replace(**changes), self.columns.change)
        kept = {one.name: getattr(self, one.name) for one in fields(self)}
        return Table(**{**kept, **changes})
