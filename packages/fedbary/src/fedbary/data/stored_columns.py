"""`StoredColumns`: the feature columns of a table that stay in their file, and are read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.columns import Boolean, Column, Vector
from fedbary.columns.arrays import Array, refuse_infinite
from fedbary.data.arrow_cells import cells_of_arrow, matrix_of
from fedbary.data.formats import decoding
from fedbary.data.formats.arrow_files import ArrowRows, Stamp, opened_rows, rows_in_parts, stamp_of, whole_column
from fedbary.data.reading import Reading
from fedbary.errors import DataError

# Rows that are looked through together for some of them.
_PART = 65_536


@dataclass(frozen=True)
class StoredColumns(Mapping[str, Array]):
    """Name → column of the table; each is read from the file whenever it is asked for, and none is kept.

    Parameters
    ----------
    path
        The file, or the folder of part files.
    rows
        How many rows the table has.
    stamp
        What the file looked like when its reading was decided.
    fields
        Column of the file, as its reading calls it → what Arrow calls it.
    reading
        How the columns are read.
    missing
        Columns of whole numbers or truths of which some row lacks a value, so that no part is read as if none did.
    chosen
        Which rows of the file, in its order; all by default.
    """

    path: Path
    rows: int
    stamp: Stamp
    fields: Mapping[str, str]
    reading: Reading
    missing: frozenset[str] = frozenset()
    chosen: npt.NDArray[np.intp] | None = field(default=None, repr=False)
    _home: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._home.update({made: name for name, how in self._used.items() for made in how.made(name)})

    def __getitem__(self, name: str) -> Array:
        home = self._home[name]
        with self._opened() as rows:
            column = whole_column(rows, self.fields[home])
        values = self._read(home, column)[name]
        refuse_infinite(name, values)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._home)

    def __len__(self) -> int:
        return len(self._home)

    def __contains__(self, name: object) -> bool:
        return name in self._home

    def parts(self, rows: int) -> Iterator[dict[str, Array]]:
        """All columns, so many rows at a time."""
        for part in self._parts(rows):
            yield self._all(part)

    def choose(self, places: npt.NDArray[np.intp]) -> StoredColumns:
        """The same columns of some of the rows, at increasing positions."""
        chosen = places if self.chosen is None else self.chosen[places]
        return replace(self, rows=len(places), chosen=chosen)

    def in_memory(self) -> dict[str, Array]:
        """All columns of all rows."""
        parts = list(self.parts(_PART))
        if not parts:
            return {name: column[:0] for name, column in replace(self, chosen=np.zeros(1, np.intp)).in_memory().items()}
        return {name: np.concatenate([part[name] for part in parts]) for name in self}

    @property
    def width(self) -> int:
        """How many cells a row has."""
        return sum(how.width if isinstance(how, Vector) and how.width else 1 for how in self._used.values())

    @property
    def _used(self) -> dict[str, Column]:
        return {name: how for name, how in self.reading.items() if not how.left_out}

    def _parts(self, rows: int) -> Iterator[Any]:
        with self._opened() as source:
            yield from rows_in_parts(source, rows, [self.fields[name] for name in self._used])

    @contextmanager
    def _opened(self) -> Iterator[ArrowRows]:
        """The file, which has to be what it was: before it is read, and after that."""
        self._check()
        try:
            with opened_rows(self.path) as rows:
                yield rows if self.chosen is None else _ChosenRows(rows, self.chosen)
        except DataError:
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        if stamp_of(self.path) != self.stamp:
            raise DataError("data.file-changed", where=str(self.path))

    def _all(self, part: Any) -> dict[str, Array]:
        columns: dict[str, Array] = {}
        for name in self._used:
            columns |= self._read(name, part.column(self.fields[name]))
        return columns

    def _read(self, name: str, column: Any) -> dict[str, Array]:
        """The columns of the table that one of the file becomes."""
        how = self.reading[name]
        if isinstance(how, Vector) and (matrix := matrix_of(column)) is not None and how.width in (0, matrix.shape[1]):
            return {name: matrix}
        with decoding(self.path):
            cells = cells_of_arrow(name, column)
        if name in self.missing and isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
            cells = cells.astype(np.float64)
        with decoding(self.path):
            if isinstance(how, Vector):
                values, _ = how.read_all(name, cells)
            else:  # how many cells cannot be read was looked at for the whole column
                values, _ = how.read(cells)
            if isinstance(how, Boolean) and name not in self.missing:
                values = values.astype(bool)
            return how.arrays(name, values)


@dataclass(frozen=True)
class _ChosenRows:
    """Some rows of a file."""

    of: ArrowRows
    chosen: npt.NDArray[np.intp]

    @property
    def schema(self) -> Any:
        return self.of.schema

    def cells(self) -> int:
        return self.of.cells()

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        start = last = 0
        for batch in self.of.batches(max(rows, _PART), columns):
            first, last = last, int(np.searchsorted(self.chosen, start + batch.num_rows))
            if last > first:
                yield batch.take(self.chosen[first:last] - start)
            if last == len(self.chosen):
                return
            start += batch.num_rows
