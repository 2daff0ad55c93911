"""Parquet: a file, or a folder of part files, whose folders may be called after values (``year=2024``)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.cells import Cells, Wanted, clean_names
from fedbary.data.formats.damage import readable, refuse_cells
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
_MOST_PARTS = 10_000
# Bytes of each column that are read ahead: by default all of a row group is, which may be all of a file.
_BUFFER = 2**16


def read_parquet(path: Path, most: int | None, *, alone: Wanted | None = None) -> Cells:
    """The columns of a Parquet file, or of all part files in a folder."""
    with readable(path, "Parquet"), parquet_rows(path) as source:
        columns = None if alone is None else wanted_fields(source.schema, alone)
        return Cells(as_frame(source.head(most, columns), alone=alone is not None))


def part_files(folder: Path) -> Iterator[Path]:
    """The Parquet files in a folder and in those below it; what begins with a dot or an underscore is none of them."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(names):
            if name.lower().endswith(PARQUET) and name[0] not in "._":
                yield Path(place, name)


def wanted_fields(schema: Any, alone: Wanted) -> list[str]:
    """The names, as a file spells them, of the columns that are wanted."""
    names = dict(zip(clean_names(schema.names), schema.names, strict=True))
    return [names[name] for name in alone(clean_names(schema.names))]


def as_frame(table: Any, *, alone: bool = False) -> pd.DataFrame:
    """An Arrow table as a pandas frame.

    Where a cell is missing, whole numbers become floats, and a cell that Python has no room for is refused; not so
    where each is ``alone``.
    """
    import pandas as pd

    if alone:
        from fedbary.data.arrow_cells import any_array

        arrays = {place: any_array(column) for place, column in enumerate(table.columns)}
        # Else pandas would decide by their cells what objects are.
        columns = {place: pd.Series(cells, dtype=object if cells.dtype.kind == "O" else None)
                   for place, cells in arrays.items()}  # fmt: skip
        return pd.DataFrame(columns).set_axis(clean_names(table.column_names), axis=1)
    frame: pd.DataFrame = table.to_pandas()
    return frame.set_axis(clean_names(frame.columns), axis=1)


class ParquetRows:
    """One Parquet file."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file

    @property
    def schema(self) -> Any:
        """Names and types of its columns, as Arrow has them."""
        return self._file.schema_arrow

    def cells(self) -> int:
        """How many cells they have, a vector as many as it has numbers."""
        return _cells(self._file.metadata)

    def head(self, most: int | None, columns: list[str] | None = None) -> Any:
        """All rows, or the first of them, and these columns."""
        import pyarrow as pa

        if most is None:
            refuse_cells(self._path, self._file.metadata.num_rows, self._file.metadata.num_columns)
            return self._file.read(columns)
        return pa.Table.from_batches([batch for batch in [next(self.batches(most), None)] if batch], self.schema)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in order, at most so many at a time, and at least these columns of them."""
        names = None if columns is None else list(columns)
        return iter(self._file.iter_batches(batch_size=rows, columns=names))


class ParquetFolder:
    """Part files, as one table: a column that is not in all of them is missing in the others."""

    def __init__(self, folder: Path, parts: list[Path]) -> None:
        import pyarrow as pa
        import pyarrow.dataset as ds

        # As `ParquetFile` is opened below.
        scan = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=_BUFFER, pre_buffer=False)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=scan)

        def dataset(schema: Any) -> Any:
            names = [str(part) for part in parts]
            return ds.dataset(names, schema=schema, format=parquet, partitioning="hive", partition_base_dir=str(folder))

        found = dataset(None)
        schemas = [found.schema, *(fragment.physical_schema for fragment in found.get_fragments())]
        self._path, self._dataset = folder, dataset(pa.unify_schemas(schemas, promote_options="permissive"))

    @property
    def schema(self) -> Any:
        """Names and types of the columns that some part has, as Arrow has them."""
        return self._dataset.schema

    def cells(self) -> int:
        """How many cells they have, a vector as many as it has numbers."""
        return sum(_cells(fragment.metadata) for fragment in self._dataset.get_fragments())

    def head(self, most: int | None, columns: list[str] | None = None) -> Any:
        """All rows, or the first of them, and these columns."""
        if most is None:
            refuse_cells(self._path, self._dataset.count_rows(), len(self._dataset.schema))
            return self._dataset.to_table(columns)
        return self._dataset.head(most)

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """The rows in order, at most so many at a time, and these columns of them."""
        import pyarrow.dataset as ds

        names = None if columns is None else {name: ds.field(name) for name in columns}
        # What is read ahead is in memory, too.
        return iter(self._dataset.to_batches(columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1))


@contextmanager
def parquet_rows(path: Path) -> Iterator[ParquetRows | ParquetFolder]:
    """An open file, or folder of part files."""
    from pyarrow.parquet import ParquetFile

    if path.is_dir():
        if (path / "_delta_log").is_dir():  # which holds files that are no longer part of the table
            raise DataError("formats.delta-table", where=str(path))
        parts = list(islice(part_files(path), _MOST_PARTS + 1))
        if len(parts) > _MOST_PARTS:
            raise DataError("formats.too-many-parts", where=str(path), most=_MOST_PARTS)
        yield ParquetFolder(path, parts)
    else:
        with ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            yield ParquetRows(path, file)


def _cells(metadata: Any) -> int:
    """Rows times columns, or the numbers that so many bytes can hold, where rows are vectors.

    A column's own metadata say it to the last number, but those of a damaged file end the process (pyarrow 26).
    """
    groups = (metadata.row_group(place) for place in range(metadata.num_row_groups))
    return int(max(metadata.num_rows * metadata.num_columns, sum(group.total_byte_size for group in groups) // 8))
