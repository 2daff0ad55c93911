"""Formats in which tables are stored: each has a file of its own, and the suffix of a file says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fedbary.data.formats.csv import SEPARATORS, read_csv
from fedbary.data.formats.damage import one_line
from fedbary.data.formats.parquet import PARQUET, read_parquet
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

AnyPath: TypeAlias = "str | PathLike[str]"

MAX_FILE_BYTES = 4 * 2**30
SUFFIXES = (*SEPARATORS, *PARQUET)


@contextmanager
def opened(path: AnyPath, options: ReadOptions, most: int | None = None) -> Iterator[pd.DataFrame]:
    """The frame that a file holds; what is wrong with the file is a DataError, also where it shows only now."""
    path = Path(path)
    suffix = table_suffix(path)
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    if size > MAX_FILE_BYTES:
        raise DataError("data.file-too-large", where=str(path), size=size, most=MAX_FILE_BYTES)
    if suffix not in PARQUET:
        yield read_csv(path, SEPARATORS[suffix], options, most)
        return
    from pyarrow import ArrowException

    try:
        yield read_parquet(path, most)
    except ArrowException as error:  # its texts are decoded where they are looked at first
        raise DataError("data.not-parquet", where=str(path), why=one_line(error)) from error


def table_suffix(path: Path) -> str:
    """Return the suffix that says how a table is stored, or raise a DataError.

    Examples
    --------
    >>> table_suffix(Path("bank.CSV.gz"))
    '.csv.gz'
    """
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise DataError("data.file-kind", where=str(path), suffix=path.suffix, known=", ".join(SUFFIXES))
