"""Excel files (.xlsx): the header is the first row of a sheet that is not empty."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from fedbary.checks import did_you_mean
from fedbary.data.formats.cells import Cells, Request, clean_names, column_without_name, refuse_bytes, refuse_cells
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError
from fedbary.notes import Note

Row: TypeAlias = tuple[Any, ...]
EXCEL = (".xlsx", ".xlsm")
OTHER_SPREADSHEETS = (".xls", ".xlsb", ".ods", ".numbers")
# What a sheet can hold at most; a damaged one may say that it holds more.
_MOST_ROWS = 1_048_576
# What a formula says that has no value.
_NO_VALUE = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#GETTING_DATA"})


def read_excel(path: Path, request: Request) -> Cells:
    """The cells of one sheet, by their values; formulas are not computed."""
    import pandas as pd

    with _sheet(path, request.options) as (header, filled, notes):
        rows = list(islice(filled, request.most))
    width = max(len(row) for row in (header, *rows))
    columns = {place: [_value(row[place]) if place < len(row) else None for row in rows] for place in range(width)}
    names = clean_names("" if name is None else name for name in header) + [""] * (width - len(header))
    # A remark beside the table is no column of it; where each cell is by itself, none says by being there that it is.
    looked_into = request.wanted is None
    used = [
        place for place in columns if names[place] or (looked_into and any(cell is not None for cell in columns[place]))
    ]
    nameless = [place for place in used if not names[place]]
    if nameless == used[:1]:
        used, notes = used[1:], (*notes, Note("formats.row-numbers"))
    elif nameless:
        raise column_without_name(path, nameless[nameless[0] == used[0]] + 1, width)
    used = [used[one] for one in request.places([names[place] for place in used])]
    frame: pd.DataFrame = pd.DataFrame({place: columns[place] for place in used}, dtype=request.dtype)
    return Cells(frame.set_axis([names[place] for place in used], axis=1), notes)


@contextmanager
def _sheet(path: Path, options: ReadOptions) -> Iterator[tuple[Row, Iterator[Row], tuple[Note, ...]]]:
    """The header of a sheet, and its rows that are not empty."""
    if find_spec("openpyxl") is None:
        raise DataError("formats.no-openpyxl", where=str(path))
    import openpyxl

    with zipfile.ZipFile(path) as archive:  # which may hold far more than its own size
        refuse_bytes(path, sum(member.file_size for member in archive.infolist()))
    with path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        names = [sheet.title for sheet in book.worksheets]
        wanted = options.sheet if options.sheet is not None else names[0]
        if wanted not in names:
            guess = did_you_mean(wanted, names)
            raise DataError("formats.no-sheet", where=str(path), sheet=wanted, guess=guess, names=tuple(names))
        notes: tuple[Note, ...] = ()
        if options.sheet is None and len(names) > 1:
            notes = (Note("formats.guessed-sheet", {"sheet": wanted, "count": len(names)}),)
        sheet = book[wanted]
        sheet.reset_dimensions()  # what a file says of its size may be wrong
        filled = _filled(path, islice(sheet.iter_rows(values_only=True), _MOST_ROWS))
        header = next(filled, None)
        if header is None:
            raise DataError("data.file-empty", where=str(path))
        yield header, filled, notes


def _filled(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    cells = 0
    for row in rows:
        if any(value is not None for value in row):
            cells += len(row)
            refuse_cells(path, cells, 1)
            yield row


def _value(cell: Any) -> Any:
    return None if isinstance(cell, str) and (cell in _NO_VALUE or not cell.strip()) else cell
