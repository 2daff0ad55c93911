"""Parquet and Feather files that are read again and again, in parts of a size and a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fedbary.data.formats.damage import readable
from fedbary.data.formats.feather import FEATHER, feather_rows
from fedbary.data.formats.parquet import PARQUET, parquet_rows, part_files

# Rows that are read together where nobody says how many.
_PART = 65_536
# Name, bytes and time of change of each file.
Stamp: TypeAlias = tuple[tuple[str, int, int], ...]


class ArrowRows(Protocol):
    """Rows as Arrow has them."""

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""

    def cells(self) -> int:
        """How many cells they have, a vector as many as it has numbers."""

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in order, at most so many at a time, and at least these columns of them."""


def is_arrow_file(path: Path) -> bool:
    """Whether a file, or the files of a folder, have types and can be read in parts.

    Examples
    --------
    >>> is_arrow_file(Path("ward.parquet")), is_arrow_file(Path("ward.csv"))
    (True, False)
    """
    if path.is_dir():
        return next(part_files(path), None) is not None
    return path.name.lower().endswith((*PARQUET, *FEATHER))


@contextmanager
def opened_rows(path: Path) -> Iterator[ArrowRows]:
    """The rows of a file or folder; what is wrong with it is a DataError, also if it shows only now."""
    if path.name.lower().endswith(FEATHER) and not path.is_dir():
        with readable(path, "Feather"), feather_rows(path) as rows:
            yield rows
    else:
        with readable(path, "Parquet"), parquet_rows(path) as rows:
            yield rows


def whole_column(source: ArrowRows, name: str) -> Any:
    """One column of all rows."""
    import pyarrow as pa

    found = [batch.column(batch.schema.get_field_index(name)) for batch in source.batches(_PART, [name])]
    return pa.chunked_array(found, type=source.schema.field(name).type)


def rows_in_parts(source: ArrowRows, rows: int, columns: Sequence[str]) -> Iterator[Any]:
    """Arrow tables of exactly so many rows each, and of what is left, however the file was written."""
    import pyarrow as pa

    waiting: list[Any] = []
    count = 0
    for batch in source.batches(rows, columns):
        start = 0
        while start < batch.num_rows:
            taken = batch.slice(start, rows - count)
            waiting.append(taken)
            start, count = start + taken.num_rows, count + taken.num_rows
            if count == rows:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def stamp_of(path: Path) -> Stamp:
    """What a file or folder looks like from outside; nothing where it is gone."""
    found = []
    try:
        for file in part_files(path) if path.is_dir() else [path]:
            facts = file.stat()
            found.append((str(file), facts.st_size, facts.st_mtime_ns))
    except OSError:
        return ()
    return tuple(found)
