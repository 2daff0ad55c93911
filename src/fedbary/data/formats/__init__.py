"""Formats in which tables are stored: each has a file of its own, and the suffix of a file says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedbary.data.formats import damage
from fedbary.data.formats.cells import Cells
from fedbary.data.formats.csv import CSV, read_csv
from fedbary.data.formats.damage import one_line, too_large
from fedbary.data.formats.excel import EXCEL, OTHER_SPREADSHEETS, read_excel
from fedbary.data.formats.feather import FEATHER, read_feather
from fedbary.data.formats.json_lines import JSON, read_json_lines
from fedbary.data.formats.parquet import PARQUET, part_files, read_parquet
from fedbary.data.formats.sql import read_sql
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, is_url
from fedbary.data.reading import Reading
from fedbary.errors import DataError

SUFFIXES = (*CSV, *PARQUET, *FEATHER, *JSON, *EXCEL)


@contextmanager
def opened(
    source: AnyPath, options: ReadOptions, most: int | None = None, *, reading: Reading | None = None
) -> Iterator[Cells]:
    """The cells that a file, folder or database holds; what is wrong with it is a DataError, also if it shows only now.

    ``reading`` says which columns are wanted as they are written, besides those that ``options`` name: as a number, a
    postcode has lost its zeros.
    """
    from pyarrow import ArrowException

    try:
        yield _cells(source, options, most, reading)
    except ArrowException as error:  # its texts are decoded where they are looked at first
        raise DataError("formats.damaged", where=str(source), kind="Parquet", why=one_line(error)) from error


def _cells(source: AnyPath, options: ReadOptions, most: int | None, reading: Reading | None) -> Cells:
    if is_url(source):
        return Cells(read_sql(str(source), options, most))
    path = Path(source)
    if path.is_dir():
        return _folder(path, most)
    suffix = table_suffix(path)
    _refuse_size(path)
    if suffix in CSV:
        return read_csv(path, options, most, reading)
    if suffix in JSON:
        return read_json_lines(path, options, most)
    if suffix in EXCEL:
        return read_excel(path, options, most)
    return read_feather(path, most) if suffix in FEATHER else read_parquet(path, most)


def _folder(path: Path, most: int | None) -> Cells:
    if not part_files(path):
        raise DataError("formats.no-table-in-folder", where=str(path))
    return read_parquet(path, most)


def is_table_folder(folder: Path) -> bool:
    """Whether a folder as a whole holds one table."""
    return bool(part_files(folder))


def table_suffix(path: Path, known: tuple[str, ...] = SUFFIXES) -> str:
    """Return the suffix that says how a table is stored, or raise a DataError.

    Examples
    --------
    >>> table_suffix(Path("bank.CSV.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    for suffix in known:
        if name.endswith(suffix):
            return suffix
    if known is SUFFIXES and name.endswith(OTHER_SPREADSHEETS):
        raise DataError("formats.other-spreadsheet", where=str(path), suffix=path.suffix)
    plain = [suffix for suffix in known if suffix.count(".") == 1]
    raise DataError("data.file-kind", where=str(path), suffix=path.suffix, known=", ".join(plain))


def _refuse_size(path: Path) -> None:
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    if size > damage.MAX_FILE_BYTES:
        raise too_large(path, size)
