"""`Cells`: what a file, a query or a frame holds; what is asked of one, how large it may be, what is said of damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.data.options import ReadOptions
from fedbary.data.persons import named_codes
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# Of a file, and of what a compressed one holds.
MAX_FILE_BYTES = 4 * 2**30
# Rows times columns: formats that store a repeated value once can hold any number of cells in a few bytes.
MAX_CELLS = 2**29
# Of a table whose cells stay in their file: what is kept of a row are its label and a few numbers.
MAX_STORED_ROWS = 2**28

_TEXT = ("CSV", "JSON")


@dataclass(frozen=True)
class Cells:
    """A pandas frame, and notes on what was guessed to get it: a separator, an encoding.

    ``id`` names the index or column by which rows are known, where their source says it by itself.
    """

    frame: pd.DataFrame
    notes: tuple[Note, ...] = ()
    id: str | None = None


class Wanted(Protocol):
    """Which columns of a table are wanted, by their names alone, where each cell is read by itself: with ε."""

    @property
    def asked(self) -> Sequence[str]:
        """The columns that a format without a header has, whatever its rows hold."""

    def __call__(self, names: Sequence[str]) -> Sequence[str]:
        """Those of a table's columns that are wanted; no other one is looked at."""


@dataclass(frozen=True)
class Request:
    """What is asked of a file.

    ``reading`` says which columns are wanted as they are written, besides those that ``options`` name: as a number, a
    postcode has lost its zeros. With ``wanted`` each cell comes by itself, as it is written or stored, and of no other
    column: no column gets a type by its cells, as another row would then decide how a cell is read.
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    most: int | None = None
    reading: Reading | None = None
    wanted: Wanted | None = None

    @property
    def dtype(self) -> type[object] | None:
        """Of the columns of a frame: pandas decides by their cells, unless each is by itself."""
        return object if self.wanted else None

    def places(self, names: Sequence[str]) -> list[int]:
        """Where the wanted columns stand among all."""
        if self.wanted is None:
            return list(range(len(names)))
        chosen = set(self.wanted(names))
        return [place for place, name in enumerate(names) if name in chosen]


def clean_names(names: Iterable[Any]) -> list[str]:
    """Names of columns as they are meant: as text, without byte order mark and blanks around them."""
    return [str(name).lstrip("\ufeff").strip() for name in names]


@dataclass(frozen=True)
class OwnedRows:
    """The cells of each client, in the order in which they come; the column that tells them apart is not among them."""

    names: list[str]
    notes: tuple[Note, ...]
    _frame: pd.DataFrame
    _codes: np.ndarray[Any, np.dtype[np.intp]]

    @classmethod
    def of(cls, cells: Cells, column: str) -> OwnedRows:
        """Tell the rows of clients apart."""
        columns = [str(name) for name in cells.frame.columns]
        if column not in columns:
            guess = did_you_mean(column, columns)
            raise DataError("formats.no-client-column", column=column, guess=guess, names=tuple(columns))
        names, codes = named_codes(cells.frame.iloc[:, columns.index(column)])
        if not names:
            raise DataError("formats.no-owner", column=column)
        nobody = int(np.count_nonzero(codes < 0))
        note = (Note("formats.rows-of-nobody", {"column": column, "count": nobody}),) if nobody else ()
        return cls(names, (*cells.notes, *note), without_column(cells.frame, column), codes)

    def cells(self, name: str) -> Cells:
        """The cells of one client."""
        place = self.names.index(name) if name in self.names else len(self.names)
        return Cells(self._frame.iloc[np.flatnonzero(self._codes == place)], self.notes)


def without_column(frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """A frame without the column that says whose a row is, if it has one."""
    kept = [str(name) != column for name in frame.columns]
    return frame if all(kept) else frame.loc[:, kept]


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Whatever goes wrong in here is one DataError: a damaged file can fail in a parser, in gzip, in zip or in zlib."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # parsers promise no kind of error for damage
        if isinstance(error, UnicodeError) and kind in _TEXT:
            encoding = getattr(error, "encoding", None)
            raise DataError("formats.not-encoded", where=str(path), encoding=encoding) from error
        raise DataError("formats.damaged", where=str(path), kind=kind, why=one_line(error)) from error


def one_line(error: BaseException) -> str:
    """An error of another library, short and on one line; what pandas finds most often, in plain words."""
    text = " ".join(str(error).split())[:200] or type(error).__name__
    _, ragged, counts = text.partition("C error: Expected ")
    expected, _, rest = counts.partition(" fields in line ")
    line, _, found = rest.partition(", saw ")
    return f"line {line} has {found} cells instead of {expected}" if ragged and found else text


def refuse_bytes(path: Path, size: int) -> None:
    """Raise a DataError for more bytes than a file may have."""
    if size > MAX_FILE_BYTES:
        raise DataError("data.file-too-large", where=str(path), size=size, most=MAX_FILE_BYTES)


def refuse_cells(path: Path, rows: int, columns: int) -> None:
    """Raise a DataError for more cells than a table may have."""
    if rows * columns > MAX_CELLS:
        raise DataError("formats.too-many-cells", where=str(path), rows=rows, columns=columns, most=MAX_CELLS)


def refuse_rows(path: Path, rows: int) -> None:
    """Raise a DataError for more rows than a table may have whose cells stay in its file."""
    if rows > MAX_STORED_ROWS:
        raise DataError("formats.too-many-rows", where=str(path), rows=rows, most=MAX_STORED_ROWS)


def column_without_name(path: Path, position: int, columns: int) -> DataError:
    """The error for a column that has cells and no name."""
    return DataError("data.column-without-name", where=str(path), position=position, columns=columns)
