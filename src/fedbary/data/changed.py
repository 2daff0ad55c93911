"""`changed`: a table of other columns or fewer rows, made a part at a time where it is large."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.data.columns import Array
from fedbary.data.table import PART, Table
from fedbary.errors import DataError

Change = Callable[[Table], Table]
Mask = npt.NDArray[np.bool_]


def changed(table: Table, change: Change, *, kept: Mask | None = None) -> Table:
    """What ``change`` makes of a table, of which only the rows that are ``kept`` come.

    A change looks at each row by itself, so that it does not matter which rows are in memory together. A table of more
    than one part stays what it is, and its parts are changed whenever they are read.

    Examples
    --------
    >>> table = Table({"age": [31.0, 45.0, 52.0]}, labels=["yes", "no", "no"])
    >>> older = changed(table, lambda part: part.replace(columns={"age": part.columns["age"] + 1.0}))
    >>> older.columns["age"].tolist()
    [32.0, 46.0, 53.0]
    """
    all_rows = kept is None or bool(kept.all())
    if len(table) <= PART:
        return change(table if all_rows or kept is None else table.take(kept))
    rows = None if all_rows else kept
    chosen = slice(None) if rows is None else rows
    return ChangedTable(
        ChangedColumns(table, change, rows),
        table.labels[chosen],
        None if table.ids is None else table.ids[chosen],
        **{name: getattr(table, name) for name in ("label_name", "id_name", "origin", "reading", "notes")},
    )


@dataclass(frozen=True, eq=False)
class ChangedColumns(Mapping[str, Array]):
    """The columns of a changed table; each is put together when somebody asks for all of it."""

    source: Table
    change: Change
    kept: Mask | None

    def __getitem__(self, name: str) -> Array:
        return np.concatenate([part.columns[name] for part in self.parts(PART)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.head().columns)

    def __len__(self) -> int:
        return len(self.head().columns)

    def head(self) -> Table:
        """The first row, whether it is kept or not."""
        return self.change(self.source.head())

    def parts(self, rows: int) -> Iterator[Table]:
        """The changed parts; none has more than so many rows, and none has none."""
        start = 0
        for part in self.source.batches(rows):
            mask = None if self.kept is None else self.kept[start : start + len(part)]
            start += len(part)
            if mask is None or mask.all():
                yield self.change(part)
            elif mask.any():
                yield self.change(part.take(mask))


@dataclass(frozen=True, eq=False)
class ChangedTable(Table):
    """A large table of which every part is changed when it is read."""

    columns: ChangedColumns

    def __post_init__(self) -> None:
        """Labels and ids were checked with the table that they come from, and columns are with each part."""

    def head(self) -> Table:
        """One row, which has all columns."""
        return self.columns.head()

    def batches(self, rows: int = PART) -> Iterator[Table]:
        """The table in parts of so many rows at most, in order; each is made when it is asked for."""
        start = 0
        for part in self.columns.parts(rows):
            ids = None if self.ids is None else self.ids[start : start + len(part)]
            yield part if ids is None and part.ids is None else part.replace(ids=ids)
            start += len(part)

    def take(self, rows: npt.ArrayLike) -> Table:
        """Keep the rows at these positions, or those marked True in a mask of all rows, in memory."""
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape != (len(self),):
            raise DataError("data.mask-does-not-fit", mask=int(chosen.size), rows=len(self))
        places = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.intp)]
        wanted, again = np.unique(places, return_inverse=True)
        found, start = list[dict[str, Array]](), 0
        for part in self.columns.parts(PART):
            first, last = np.searchsorted(wanted, (start, start + len(part)))
            if last > first or not found:
                found.append({name: values[wanted[first:last] - start] for name, values in part.columns.items()})
            start += len(part)
        return self.replace(
            columns={name: np.concatenate([part[name] for part in found])[again] for name in found[0]},
            labels=self.labels[places],
            ids=None if self.ids is None else self.ids[places],
        )

    def replace(self, **changes: Any) -> Table:
        """Return a copy with some fields changed; with other columns or labels it is a table in memory."""
        if not changes.keys() & {"columns", "labels"}:
            return dataclasses.replace(self, **changes)
        kept = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return Table(**{**kept, **changes})
