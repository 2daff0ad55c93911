"""Formats in which tables are stored: the suffix of a file says which it is, and each gives the cells of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fedbary.data.formats.arrow_files import FEATHER, PARQUET, part_files, read_arrow
from fedbary.data.formats.cells import Cells, Request, Wanted, one_line, readable, refuse_bytes
from fedbary.data.formats.csv import CSV, read_csv
from fedbary.data.formats.excel import EXCEL, OTHER_SPREADSHEETS, read_excel
from fedbary.data.formats.images import is_image_folder, read_image_folder, with_images
from fedbary.data.formats.sql import read_sql
from fedbary.data.formats.text_files import JSON, read_json_lines
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, is_url, shown
from fedbary.data.reading import Reading
from fedbary.errors import DataError


@dataclass(frozen=True)
class Format:
    """How files of some suffixes give their cells, and what they are called where they are damaged."""

    kind: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, Request], Cells]


_PARQUET = Format("Parquet", PARQUET, read_arrow)
FORMATS = (
    Format("CSV", CSV, read_csv),
    _PARQUET,
    Format("Feather", FEATHER, read_arrow),
    Format("JSON", JSON, read_json_lines),
    Format("Excel", EXCEL, read_excel),
)
SUFFIXES = tuple(suffix for one in FORMATS for suffix in one.suffixes)


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

    See `Request` for the parameters.
    """
    with decoding(source):
        yield _cells(source, Request(options, most, reading, alone))


@contextmanager
def decoding(source: AnyPath) -> Iterator[None]:
    """Arrow decodes texts where they are looked at first, perhaps long after a file was read."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, UnicodeDecodeError) as error:
        raise DataError("formats.damaged", where=shown(source), kind="Parquet", why=one_line(error)) from error


def _cells(source: AnyPath, request: Request) -> Cells:
    if is_url(source):
        return Cells(read_sql(str(source), request))
    path = Path(source)
    if is_image_folder(path):
        return read_image_folder(path, request)
    form = _format(path)
    with readable(path, form.kind):
        cells = form.read(path, request)
    home = path if path.is_dir() else path.parent
    return replace(cells, frame=with_images(cells.frame, home, request.reading, guess=request.wanted is None))


def _format(path: Path) -> Format:
    """The format of a file that can be looked into; a folder of Parquet files is read like one of them."""
    if path.is_dir():
        if next(part_files(path), None) is None:
            raise DataError("formats.no-table-in-folder", where=str(path))
        return _PARQUET
    suffix = table_suffix(path)
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    refuse_bytes(path, size)
    return next(one for one in FORMATS if suffix in one.suffixes)


def is_table_folder(folder: Path) -> bool:
    """Whether a folder as a whole holds one table."""
    return is_image_folder(folder) or next(part_files(folder), None) is not None


def table_suffix(path: Path, known: tuple[str, ...] = SUFFIXES) -> str:
    """Return the suffix that says how a table is stored, or raise a DataError."""
    name = path.name.lower()
    for suffix in known:
        if name.endswith(suffix):
            return suffix
    if known is SUFFIXES and name.endswith(OTHER_SPREADSHEETS):
        raise DataError("formats.other-spreadsheet", where=str(path), suffix=path.suffix)
    plain = [suffix for suffix in known if suffix.count(".") == 1]
    raise DataError("data.file-kind", where=str(path), suffix=path.suffix, known=", ".join(plain))
