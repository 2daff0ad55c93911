"""`StoredTable`: a table whose rows stay in their file, and come a part at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import as_ids, as_labels, check_layout, kind_of, missing_rows, naming
from fedbary.data.persons import as_persons
from fedbary.data.stored_columns import StoredColumns
from fedbary.data.table import Table
from fedbary.errors import DataError, wrong_parameter

# Cells that a table in memory may have: as numbers they take 128 MB.
MOST_IN_MEMORY = 2**24


@dataclass(frozen=True, eq=False)
class StoredTable(Table):
    """A table whose labels, ids and persons are in memory; features are read from a file whenever they are needed.

    `batches` reads a part at a time; ``columns[name]`` reads one column. All else that a `Table` does works, too.
    What is wrong with a cell is said when it is met. The file must not change in the meantime.
    """

    columns: StoredColumns

    def __post_init__(self) -> None:
        with naming(self.origin):
            object.__setattr__(self, "labels", as_labels(self.label_name, self.labels))
            persons = None if self.persons is None else as_persons(self.persons, len(self.labels))
            object.__setattr__(self, "persons", persons)
            object.__setattr__(self, "ids", None if self.ids is None else as_ids(self.id_name, self.ids))
            extra = {} if self.ids is None else {self.id_name: self.ids}
            check_layout(
                dict.fromkeys(self.columns, np.arange(self.columns.rows)), {**extra, self.label_name: self.labels}
            )

    def __repr__(self) -> str:
        return f"Stored{super().__repr__()}"

    def missing(self) -> dict[str, int]:
        """Count, for each feature column, the rows in which it has no value."""
        counts = dict.fromkeys(self.columns, 0)
        for part in self.batches():
            for name, column in part.columns.items():
                counts[name] += int(missing_rows(column).sum())
        return counts

    def take(self, rows: npt.ArrayLike) -> Table:
        """Keep the rows at these positions, or those marked True in a mask of all rows.

        They come into memory, unless they are many, each once and in the order of the file.
        """
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape != (len(self),):
            raise DataError("data.mask-does-not-fit", mask=int(chosen.size), rows=len(self))
        places = np.arange(len(self))[chosen if chosen.size else chosen.astype(np.intp)]
        own = {
            "labels": self.labels[places],
            "ids": None if self.ids is None else self.ids[places],
            "persons": None if self.persons is None else self.persons[places],
        }
        if len(places) * self.columns.width > MOST_IN_MEMORY and bool((np.diff(places) > 0).all()):
            return dataclasses.replace(self, columns=self.columns.choose(places), **own)
        once, again = np.unique(places, return_inverse=True)
        columns = self.columns.choose(once).in_memory()
        return self.replace(columns={n: column[again] for n, column in columns.items()}, **own)

    def head(self) -> Table:
        """One row in memory, by which its columns are known."""
        return self._first_row

    @cached_property
    def _first_row(self) -> Table:
        """Kept, as a file gives away no single row without the thousands beside it."""
        return next(self.batches(rows=1))

    def batches(self, rows: int = 65_536) -> Iterator[Table]:
        """Read the table in parts of so many rows, in order; each is a table in memory."""
        if rows < 1:
            raise wrong_parameter("rows", "batches", "at least 1", rows)
        start = 0
        parts = self.columns.parts(rows)
        while True:
            try:
                columns = next(parts, None)
                if columns is None:
                    return
                part = slice(start, start + rows)
                table = self.replace(
                    columns=columns,
                    labels=self.labels[part],
                    ids=None if self.ids is None else self.ids[part],
                    persons=None if self.persons is None else self.persons[part],
                )
            except DataError as error:
                raise self._of_all_rows(error) from error.__cause__
            yield table
            start += rows

    def replace(self, **changes: Any) -> Table:
        """Return a copy with some fields changed; with other columns it is a table in memory."""
        if "columns" not in changes:
            return dataclasses.replace(self, **changes)
        kept = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return Table(**{**kept, **changes})

    def summary(self) -> dict[str, Any]:
        """Describe the table in a few numbers that hold no row."""
        first, missing = next(self.batches()), self.missing()
        return {
            "rows": len(self),
            "columns": {n: {"kind": kind_of(c), "missing": missing[n]} for n, c in first.columns.items()},
            "label": {"name": self.label_name, "distinct": len(np.unique(self.labels))},
        }

    def _of_all_rows(self, error: DataError) -> DataError:
        """What is wrong with a column, of which a part knows only its own rows."""
        try:
            with naming(self.origin):
                for name in self.columns:
                    self.columns[name]
        except DataError as found:
            return found
        return error
