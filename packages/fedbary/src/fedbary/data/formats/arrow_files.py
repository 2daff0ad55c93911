"""Parquet and Feather: files, and folders of part files, that have types and can be read again and again, in parts.

Feather is Arrow's own format; streams of Arrow, as Hugging Face keeps them, are read, too. Folders of Parquet files may
be called after values (``year=2024``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from fedbary.data.formats.cells import Cells, Request, clean_names, readable, refuse_cells
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow", ".ipc")
_FEATHER_FILE, _FIRST_FEATHER = b"ARROW1", b"FEA1"
_MOST_PARTS = 10_000
# Bytes of each column that are read ahead: by default all of a row group is, which may be all of a file.
_BUFFER = 2**16
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


class ArrowFile(ArrowRows, Protocol):
    """All rows of a file or folder."""

    def head(self, most: int | None, columns: list[str] | None) -> Any:
        """All rows, and these columns of them, as cells that may be anything; or the first rows, and all columns."""


def read_arrow(path: Path, request: Request) -> Cells:
    """The columns of a file, or of all part files in a folder."""
    with opened_rows(path) as source:
        names = source.schema.names
        columns = None if request.wanted is None else [names[place] for place in request.places(clean_names(names))]
        return Cells(as_frame(source.head(request.most, columns), alone=request.wanted is not None))


def is_arrow_file(path: Path) -> bool:
    """Whether a file, or the files of a folder, have types and can be read in parts."""
    if path.is_dir():
        return next(part_files(path), None) is not None
    return path.name.lower().endswith((*PARQUET, *FEATHER))


def part_files(folder: Path) -> Iterator[Path]:
    """The Parquet files in a folder and in those below it; what begins with a dot or an underscore is none of them."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(names):
            if name.lower().endswith(PARQUET) and name[0] not in "._":
                yield Path(place, name)


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


@contextmanager
def opened_rows(path: Path) -> Iterator[ArrowFile]:
    """The rows of a file or folder; what is wrong with it is a DataError, also if it shows only now."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    feather = path.name.lower().endswith(FEATHER) and not path.is_dir()
    with readable(path, "Feather" if feather else "Parquet"):
        if feather:
            with path.open("rb") as file:
                magic = file.read(len(_FEATHER_FILE))
            if magic.startswith(_FIRST_FEATHER):
                raise ValueError("the first version of Feather, which nothing has written since 2020")
            with pa.OSFile(str(path)) as source:
                yield _FeatherRows(path, source, stream=magic != _FEATHER_FILE)
        elif path.is_dir():
            yield _ParquetFolder(path)
        else:
            with ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
                yield _ParquetRows(path, file)


class _ParquetRows:
    """One Parquet file."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file, self.schema = path, file, file.schema_arrow

    def cells(self) -> int:
        return _parquet_cells(self._file.metadata)

    def head(self, most: int | None, columns: list[str] | None) -> Any:
        import pyarrow as pa

        if most is None:
            refuse_cells(self._path, self._file.metadata.num_rows, self._file.metadata.num_columns)
            return self._file.read(columns)
        return pa.Table.from_batches([batch for batch in [next(self.batches(most), None)] if batch], self.schema)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        return iter(self._file.iter_batches(batch_size=rows, columns=None if columns is None else list(columns)))


class _ParquetFolder:
    """All part files in a folder."""

    def __init__(self, folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.dataset as ds

        if (folder / "_delta_log").is_dir():  # which holds files that are no longer part of the table
            raise DataError("formats.delta-table", where=str(folder))
        parts = [str(part) for part in islice(part_files(folder), _MOST_PARTS + 1)]
        if len(parts) > _MOST_PARTS:
            raise DataError("formats.too-many-parts", where=str(folder), most=_MOST_PARTS)
        # As `ParquetFile` is opened above.
        scan = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=scan)

        def dataset(schema: Any) -> Any:
            return ds.dataset(parts, schema=schema, format=parquet, partitioning="hive", partition_base_dir=str(folder))

        found = dataset(None)
        schemas = [found.schema, *(fragment.physical_schema for fragment in found.get_fragments())]
        self._path, self._dataset = folder, dataset(pa.unify_schemas(schemas, promote_options="permissive"))
        self.schema = self._dataset.schema

    def cells(self) -> int:
        return sum(_parquet_cells(fragment.metadata) for fragment in self._dataset.get_fragments())

    def head(self, most: int | None, columns: list[str] | None) -> Any:
        if most is None:
            refuse_cells(self._path, self._dataset.count_rows(), len(self.schema))
            return self._dataset.to_table(columns)
        return self._dataset.head(most)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        import pyarrow.dataset as ds

        names = None if columns is None else {name: ds.field(name) for name in columns}
        # What is read ahead is in memory, too.
        return iter(self._dataset.to_batches(columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1))


def _parquet_cells(metadata: Any) -> int:
    """Rows times columns, or the numbers that so many bytes can hold, where rows are vectors.

    A column's own metadata say it to the last number, but those of a damaged file end the process (pyarrow 26).
    """
    groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
    return int(max(metadata.num_rows * metadata.num_columns, sum(group.total_byte_size for group in groups) // 8))


class _FeatherRows:
    """One Feather file, whose buffers are checked: Arrow trusts what a file says of its texts' lengths."""

    def __init__(self, path: Path, source: Any, *, stream: bool) -> None:
        self._path, self._source, self._stream = path, source, stream
        self.schema = self._reader().schema

    def cells(self) -> int:
        """About so many: the file says only how many bytes."""
        return int(self._source.size()) // 4

    def head(self, most: int | None, columns: list[str] | None) -> Any:
        import pyarrow as pa

        found, rows = [], 0
        for batch in self._stored(columns, any_cells=columns is not None):
            found.append(batch)
            rows += batch.num_rows
            refuse_cells(self._path, rows, len(self.schema))
            if most is not None and rows >= most:
                break
        return pa.Table.from_batches(found, found[0].schema if found else self.schema).slice(0, most)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        for batch in self._stored(columns):
            yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))

    def _stored(self, columns: Sequence[str] | None, *, any_cells: bool = False) -> Iterator[Any]:
        """The batches of the file; with ``any_cells`` a text that is no UTF-8, or a date that is none, is no damage."""
        import pyarrow as pa

        places = None if columns is None else [self.schema.get_field_index(name) for name in columns]
        reader = self._reader(pa.ipc.IpcReadOptions(included_fields=places))
        for batch in reader if self._stream else map(reader.get_batch, range(reader.num_record_batches)):
            for column in batch.columns:
                (_as_stored(column) if any_cells else column).validate(full=True)
            yield batch

    def _reader(self, options: Any = None) -> Any:
        import pyarrow as pa

        self._source.seek(0)
        return (pa.ipc.open_stream if self._stream else pa.ipc.open_file)(self._source, options=options)


def _as_stored(column: Any) -> Any:
    """The same buffers, of a type that allows any bytes for a cell."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_string(kind):
        return column.view(pa.binary())
    if types.is_large_string(kind):
        return column.view(pa.large_binary())
    if types.is_decimal(kind):
        return column.view(pa.binary(kind.bit_width // 8))
    if types.is_date(kind) or types.is_time(kind):
        return column.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return column


def as_frame(table: Any, *, alone: bool = False) -> pd.DataFrame:
    """An Arrow table as a pandas frame.

    Where a cell is missing, whole numbers become floats, and a cell that Python has no room for is refused; not so
    where each is ``alone``.
    """
    import pandas as pd

    if not alone:
        frame: pd.DataFrame = table.to_pandas()
        return frame.set_axis(clean_names(frame.columns), axis=1)
    from fedbary.data.frames import any_array

    columns = {}
    for place, column in enumerate(table.columns):
        cells = any_array(column)
        # Else pandas would decide by their cells what objects are.
        columns[place] = pd.Series(cells, dtype=object if cells.dtype.kind == "O" else None)
    return pd.DataFrame(columns).set_axis(clean_names(table.column_names), axis=1)


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
