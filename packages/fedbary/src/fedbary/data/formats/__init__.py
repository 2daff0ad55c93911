"""Formats in which tables are stored: each has a file of its own, and the suffix of a file says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fedbary.data.formats import damage
from fedbary.data.formats.cells import Cells, Wanted
from fedbary.data.formats.csv import CSV, read_csv
from fedbary.data.formats.damage import one_line, too_large
from fedbary.data.formats.excel import EXCEL, OTHER_SPREADSHEETS, read_excel
from fedbary.data.formats.feather import FEATHER, read_feather
from fedbary.data.formats.image_columns import with_images
from fedbary.data.formats.image_folder import is_image_folder, read_image_folder
from fedbary.data.formats.json_lines import JSON, read_json_lines
from fedbary.data.formats.parquet import PARQUET, part_files, read_parquet
from fedbary.data.formats.sql import read_sql
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, is_url, shown
from fedbary.data.reading import Reading
from fedbary.errors import DataError

SUFFIXES = (*CSV, *PARQUET, *FEATHER, *JSON, *EXCEL)


@contextmanager
def opened(
    source: AnyPath,
    options: ReadOptions,
    most: int | None = None,
    *,
    reading: Reading | None = None,
    alone: Wanted | None = None,
) -> Iterator[Cells]:
    """The cells that a file, folder or database holds; what is wrong with it is a DataError, also if it shows only now.

    ``reading`` says which columns are wanted as they are written, besides those that ``options`` name: as a number, a
    postcode has lost its zeros. With ``alone`` each cell comes as it is written or stored, and of no other column than
    it chooses: no column gets a type by its cells, as another row would then decide how a cell is read.
    """
    with decoding(source):
        yield _cells(source, options, most, reading, alone=alone)


@contextmanager
def decoding(source: AnyPath) -> Iterator[None]:
    """Arrow decodes texts where they are looked at first, perhaps long after a file was read."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError) as error:
        raise DataError("formats.damaged", where=shown(source), kind="Parquet", why=one_line(error)) from error


def _cells(
    source: AnyPath, options: ReadOptions, most: int | None, reading: Reading | None, *, alone: Wanted | None
) -> Cells:
    if is_url(source):
        return Cells(read_sql(str(source), options, most, alone=alone))
    path = Path(source)
    if is_image_folder(path):
        cells = read_image_folder(path, most)
        return cells if alone is None else replace(cells, frame=cells.frame[list(alone(list(cells.frame.columns)))])
    cells = _file(path, options, most, reading, alone=alone)
    return replace(cells, frame=with_images(cells.frame, _home(path), reading, guess=alone is None))


def _home(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _file(
    path: Path, options: ReadOptions, most: int | None, reading: Reading | None, *, alone: Wanted | None
) -> Cells:
    suffix = _suffix(path)
    if suffix in CSV:
        return read_csv(path, options, most, reading, alone=alone)
    if suffix in JSON:
        return read_json_lines(path, options, most, alone=alone)
    if suffix in EXCEL:
        return read_excel(path, options, most, alone=alone)
    read_arrow = read_feather if suffix in FEATHER else read_parquet
    return read_arrow(path, most, alone=alone)


def _suffix(path: Path) -> str:
    """The suffix of a file that can be looked into; a folder of Parquet files is read like one of them."""
    if path.is_dir():
        if next(part_files(path), None) is None:
            raise DataError("formats.no-table-in-folder", where=str(path))
        return PARQUET[0]
    suffix = table_suffix(path)
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    if size > damage.MAX_FILE_BYTES:
        raise too_large(path, size)
    return suffix


def is_table_folder(folder: Path) -> bool:
    """Whether a folder as a whole holds one table."""
    return is_image_folder(folder) or next(part_files(folder), None) is not None


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
