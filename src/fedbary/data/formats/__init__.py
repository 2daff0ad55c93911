"""Formats in which tables are stored: each has a file of its own, and the suffix of a file says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedbary.data.formats import damage
from fedbary.data.formats.cells import Cells
from fedbary.data.formats.csv import CSV, read_csv
from fedbary.data.formats.damage import one_line, too_large
from fedbary.data.formats.parquet import PARQUET, read_parquet
from fedbary.data.formats.sql import read_sql
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, is_url
from fedbary.data.reading import Reading
from fedbary.errors import DataError

SUFFIXES = (*CSV, *PARQUET)


@contextmanager
def opened(
    source: AnyPath, options: ReadOptions, most: int | None = None, *, reading: Reading | None = None
) -> Iterator[Cells]:
    """The cells that a file holds; what is wrong with the file is a DataError, also where it shows only now.

    ``reading`` says which columns are wanted as they are written, besides those that ``options`` name: as a number, a
    postcode has lost its zeros.
    """
    if is_url(source):
        yield Cells(read_sql(str(source), options, most))
        return
    path = Path(source)
    suffix = table_suffix(path)
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    if size > damage.MAX_FILE_BYTES:
        raise too_large(path, size)
    if suffix in CSV:
        yield read_csv(path, options, most, reading)
        return
    from pyarrow import ArrowException

    try:
        yield read_parquet(path, most)
    except ArrowException as error:  # its texts are decoded where they are looked at first
        raise DataError("data.not-parquet", where=str(path), why=one_line(error)) from error


def table_suffix(path: Path, known: tuple[str, ...] = SUFFIXES) -> str:
    """Return the suffix that says how a table is stored, or raise a DataError.

    Examples
    --------
    >>> table_suffix(Path("bank.CSV.gz"))
    '.csv.gz'
    """
    for suffix in known:
        if path.name.lower().endswith(suffix):
            return suffix
    raise DataError("data.file-kind", where=str(path), suffix=path.suffix, known=", ".join(known))
