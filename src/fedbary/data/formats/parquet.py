"""Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.data.formats.cells import Cells, clean_names
from fedbary.data.formats.damage import one_line
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")


def read_parquet(path: Path, most: int | None) -> Cells:
    """The columns of a Parquet file."""
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow") if most is None else _parquet_head(path, most)
    except Exception as error:
        raise DataError("data.not-parquet", where=str(path), why=one_line(error)) from error
    return Cells(frame.set_axis(clean_names(frame.columns), axis=1))


def _parquet_head(path: Path, most: int) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        batch = next(file.iter_batches(batch_size=most), None)
        table = pa.Table.from_batches([] if batch is None else [batch], schema=file.schema_arrow)
    frame: pd.DataFrame = table.to_pandas()
    return frame
