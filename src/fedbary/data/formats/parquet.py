"""Parquet: a file, or a folder of part files, whose folders may be called after values (``year=2024``)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.formats.cells import Cells, clean_names
from fedbary.data.formats.damage import readable, refuse_cells
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
_MOST_PARTS = 10_000


def read_parquet(path: Path, most: int | None, *, alone: bool = False) -> Cells:
    """The columns of a Parquet file, or of all part files in a folder."""
    with readable(path, "Parquet"), _source(path) as source:
        return Cells(as_frame(source.head(most), alone=alone))


def parquet_chunks(path: Path, rows: int) -> Iterator[Cells]:
    """The columns of Parquet files, so many rows at a time."""
    with readable(path, "Parquet"), _source(path) as source:
        for batch in source.batches(rows):
            yield Cells(as_frame(batch))


def part_files(folder: Path) -> Iterator[Path]:
    """The Parquet files in a folder and in those below it; what begins with a dot or an underscore is none of them."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in sorted(names):
            if name.lower().endswith(PARQUET) and name[0] not in "._":
                yield Path(place, name)


def as_frame(table: Any, *, alone: bool = False) -> pd.DataFrame:
    """An Arrow table as a pandas frame.

    Whole numbers become floats where a cell is missing, and large ones lose digits; not so where each is ``alone``.
    """
    frame: pd.DataFrame = table.to_pandas(integer_object_nulls=alone)
    return frame.set_axis(clean_names(frame.columns), axis=1)


class _File:
    """One Parquet file."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file

    def head(self, most: int | None) -> Any:
        import pyarrow as pa

        if most is None:
            refuse_cells(self._path, self._file.metadata.num_rows, self._file.metadata.num_columns)
            return self._file.read()
        return pa.Table.from_batches([batch for batch in [next(self.batches(most), None)] if batch], self._schema)

    def batches(self, rows: int) -> Iterator[Any]:
        return iter(self._file.iter_batches(batch_size=rows))

    @property
    def _schema(self) -> Any:
        return self._file.schema_arrow


class _Folder:
    """Part files, as one table: a column that is not in all of them is missing in the others."""

    def __init__(self, folder: Path, parts: list[Path]) -> None:
        import pyarrow as pa
        import pyarrow.dataset as ds

        def dataset(schema: Any) -> Any:
            names = [str(part) for part in parts]
            return ds.dataset(
                names, schema=schema, format="parquet", partitioning="hive", partition_base_dir=str(folder)
            )

        found = dataset(None)
        schemas = [found.schema, *(fragment.physical_schema for fragment in found.get_fragments())]
        self._path, self._dataset = folder, dataset(pa.unify_schemas(schemas, promote_options="permissive"))

    def head(self, most: int | None) -> Any:
        if most is None:
            refuse_cells(self._path, self._dataset.count_rows(), len(self._dataset.schema))
            return self._dataset.to_table()
        return self._dataset.head(most)

    def batches(self, rows: int) -> Iterator[Any]:
        return iter(self._dataset.to_batches(batch_size=rows))


@contextmanager
def _source(path: Path) -> Iterator[_File | _Folder]:
    from pyarrow.parquet import ParquetFile

    if path.is_dir():
        if (path / "_delta_log").is_dir():  # which holds files that are no longer part of the table
            raise DataError("formats.delta-table", where=str(path))
        parts = list(islice(part_files(path), _MOST_PARTS + 1))
        if len(parts) > _MOST_PARTS:
            raise DataError("formats.too-many-parts", where=str(path), most=_MOST_PARTS)
        yield _Folder(path, parts)
    else:
        with ParquetFile(path) as file:
            yield _File(path, file)
