"""What is said of a file that cannot be read, and how large one may be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedbary.errors import DataError

# Of a file, and of what a compressed one holds.
MAX_FILE_BYTES = 4 * 2**30
# Rows times columns: formats that store a repeated value once can hold any number of cells in a few bytes.
MAX_CELLS = 2**29
# Of a table whose cells stay in their file: what is kept of a row are its label and a few numbers.
MAX_STORED_ROWS = 2**28

_TEXT = ("CSV", "JSON")


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Whatever goes wrong in here is one DataError: a damaged file can fail in a parser, in gzip, in zip or in zlib."""
    try:
        yield
    except DataError:
        raise
    except UnicodeError as error:
        if kind not in _TEXT:
            raise DataError("formats.damaged", where=str(path), kind=kind, why=one_line(error)) from error
        raise DataError("formats.not-encoded", where=str(path), encoding=getattr(error, "encoding", None)) from error
    except Exception as error:  # parsers promise no kind of error for damage
        raise DataError("formats.damaged", where=str(path), kind=kind, why=one_line(error)) from error


def one_line(error: BaseException) -> str:
    """An error of another library, short and on one line; what pandas finds most often, in plain words."""
    text = " ".join(str(error).split())[:200] or type(error).__name__
    _, ragged, counts = text.partition("C error: Expected ")
    expected, _, rest = counts.partition(" fields in line ")
    line, _, found = rest.partition(", saw ")
    return f"line {line} has {found} cells instead of {expected}" if ragged and found else text


def too_large(path: Path, size: int) -> DataError:
    """The error for more bytes than a file may have."""
    return DataError("data.file-too-large", where=str(path), size=size, most=MAX_FILE_BYTES)


def refuse_cells(path: Path, rows: int, columns: int) -> None:
    """Raise a DataError for more cells than a table may have."""
    if rows * columns > MAX_CELLS:
        raise DataError("formats.too-many-cells", where=str(path), rows=rows, columns=columns, most=MAX_CELLS)


def refuse_rows(path: Path, rows: int) -> None:
    """Raise a DataError for more rows than a table may have whose cells stay in its file."""
    if rows > MAX_STORED_ROWS:
        raise DataError("formats.too-many-rows", where=str(path), rows=rows, most=MAX_STORED_ROWS)
