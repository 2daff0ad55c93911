"""From the cells of a file to columns of a table, by a reading: each cell by itself, whatever the others hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedbary.data.categories import category_name
from fedbary.data.column_cells import ColumnCells, TextCells, written
from fedbary.data.columns import LARGEST, Array, block_dtype, refuse_infinite
from fedbary.data.date_texts import Moments
from fedbary.data.number_texts import MARKS
from fedbary.data.options import Encoder
from fedbary.data.reading import LEFT_OUT, MONTH, WEEKDAY, ColumnReading, Reading
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import shown_cell

Mask = npt.NDArray[np.bool_]
# In English, and as German and French spreadsheets write them.
BOOLEANS = {
    **dict.fromkeys(("true", "yes", "y", "t", "wahr", "ja", "vrai", "oui"), 1.0),
    **dict.fromkeys(("false", "no", "n", "f", "falsch", "nein", "faux", "non"), 0.0),
}
WORDS = {
    "number": "a number", "boolean": "true or false", "category": "a category", "ordered": "an ordered category",
    "date": "a date", "vector": "a vector", "image": "an image", "text": "free text",
}  # fmt: skip
UNREAD, UNREAD_CELLS = "data.column-left-out", "data.cells-unread"
# Cells that cannot be read count as missing up to so many of a column, or up to this share of it.
_FEW, _FEW_SHARE = 5, 0.05


def columns_of(
    cells: Mapping[str, ColumnCells], reading: Reading, *, encoder: Encoder = None, strict: bool = True
) -> tuple[dict[str, Array], Reading, tuple[Note, ...]]:
    """Read every column that is not left out.

    Parameters
    ----------
    cells
        Column of the file → its cells.
    reading
        How each of them is read.
    encoder
        What the owner asked for, for images and free text.
    strict
        Leave a column out in which more than a few cells cannot be read; else each of them is missing, however many.

    Returns
    -------
    tuple
        The columns; the reading, with what encoders say of themselves; and notes on these and on cells and columns that
        could not be read.

    Examples
    --------
    >>> reading = Reading({"day": ColumnReading("date")})
    >>> columns, _, _ = columns_of({"day": TextCells(["1970-01-02"], np.array([0, -1]))}, reading)
    >>> {name: column.shape for name, column in columns.items()}
    {'day': (2,), 'day (month)': (2, 2), 'day (weekday)': (2, 2)}
    """
    _refuse_too_wide(cells, reading)
    columns: dict[str, Array] = {}
    stated = dict(reading.of)
    notes: list[Note] = []
    unread: list[DataError] = []
    for name, how in reading.items():
        if how.kind in LEFT_OUT:
            continue
        if how.kind in ("image", "text"):
            columns[name], stated[name], guessed = _encoded(name, cells[name], how, encoder, strict=strict)
            notes.extend(guessed)
            continue
        try:
            columns.update(_Column(name, cells[name], how, strict, notes).read())
        except DataError as error:
            unread.append(error)
            stated[name] = ColumnReading("dropped")
    if unread and not columns:
        raise unread[0]
    return columns, Reading(stated), (*notes, *map(left_out, unread))


def left_out(error: DataError) -> Note:
    """That a column is left out, for the reason for which it would be refused."""
    return Note(UNREAD, {"column": str(error.note.facts["column"]), "why": error.note})


def finite(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Numbers, without those that nothing measures: infinite ones, and those whose squares are."""
    beyond = np.abs(values) > LARGEST
    return np.where(beyond, np.nan, values) if beyond.any() else values


def are_few(unread: int, present: int) -> bool:
    """Whether so many of a column's cells may be missing because they cannot be read.

    Examples
    --------
    >>> are_few(40, 1000), are_few(60, 1000), are_few(3, 40), are_few(3, 4)
    (True, False, True, False)
    """
    return unread <= max(_FEW, _FEW_SHARE * present) and 2 * unread < present


def _refuse_too_wide(cells: Mapping[str, ColumnCells], reading: Reading) -> None:
    """By the reading alone: another party's may ask for more numbers than a machine has room for."""
    from fedbary.data.encoders import MOST_NUMBERS, width_of

    width = sum(how.width if how.kind == "vector" else width_of(how) or 0 for how in reading.values())
    rows = max((len(column) for column in cells.values()), default=0)
    if rows * width > MOST_NUMBERS:
        raise DataError("encoders.too-many-numbers", cells=rows, kind="row", width=width, most=MOST_NUMBERS)


def categories_of(cells: ColumnCells) -> Array:
    """What the category of each cell is called, None where it is missing.

    Examples
    --------
    >>> categories_of(TextCells(["1.0", "007", "?"], np.array([0, 1, 2, -1]))).tolist()
    ['1', '007', None, None]
    """
    cells = as_texts(cells)
    names = np.fromiter(map(category_name, cells.levels), dtype=object)
    names[cells.among(MARKS)] = None
    return cells.spread(names, None)


def number_values(cells: ColumnCells, decimal: str) -> tuple[npt.NDArray[np.float64], Mask]:
    """The number of each cell, NaN where there is none, and which could not be read."""
    if isinstance(cells, TextCells):
        return _of_levels(cells, cells.number_texts.numbers(decimal))
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64), np.zeros(len(cells), dtype=bool)
    return np.full(len(cells), np.nan), _present(cells)


def moment_values(cells: ColumnCells, order: str) -> tuple[Moments, Mask]:
    """The moment of each cell, NaT where there is none, and which could not be read."""
    if isinstance(cells, TextCells):
        return _of_levels(cells, cells.moments(order))
    if cells.dtype.kind == "M":
        return cells, np.zeros(len(cells), dtype=bool)
    if cells.dtype.kind in "iuf":
        return moment_values(as_texts(cells), order)
    return np.full(len(cells), np.datetime64("NaT", "us")), _present(cells)


def _of_levels(cells: TextCells, found: Array) -> tuple[Array, Mask]:
    """Spread what was found for the levels that are no marks of missing cells."""
    nothing = np.datetime64("NaT") if found.dtype.kind == "M" else np.nan
    values = np.full(len(cells.levels), nothing, dtype=found.dtype)
    values[~cells.marks] = found
    unread = _unknown(values) & ~cells.marks
    return cells.spread(values, nothing), cells.spread(unread, False)


@dataclass(frozen=True)
class _Column:
    """One column while it is read."""

    name: str
    cells: ColumnCells
    how: ColumnReading
    strict: bool
    notes: list[Note]

    def read(self) -> dict[str, Array]:
        """The columns of the table that it becomes."""
        match self.how.kind:
            case "number":
                return {self.name: self.numbers()}
            case "boolean":
                return {self.name: self.booleans()}
            case "ordered":
                return {self.name: self.places()}
            case "date":
                return self.dates()
            case "vector":
                return {self.name: self.vectors()}
        return {self.name: categories_of(self.cells)}

    def numbers(self) -> Array:
        values, unread = number_values(self.cells, self.how.decimal)
        kept = finite(values)
        return self.fitting(kept, unread | (np.isnan(kept) & ~np.isnan(values)))

    def booleans(self) -> Array:
        if isinstance(self.cells, TextCells):
            values, unread = _of_levels(self.cells, _truths(self.cells))
        else:
            values, unread = number_values(self.cells, "")
            odd = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
            values, unread = np.where(odd, np.nan, values), unread | odd
        values = self.fitting(values, unread)
        # A bool array has no room for "missing": 0, 1 and NaN say the same. And no row decides which of them it is.
        return values.astype(bool) if self.strict and not np.isnan(values).any() else values

    def places(self) -> Array:
        """The place of each level; one that was not named is missing."""
        places = {category_name(level): float(place) for place, level in enumerate(self.how.levels)}
        texts = as_texts(self.cells)
        values = np.array([places.get(category_name(level), np.nan) for level in texts.levels], dtype=np.float64)
        return texts.spread(values, np.nan)

    def dates(self) -> dict[str, Array]:
        moments = self.fitting(*moment_values(self.cells, self.how.order))
        days = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
        missing = np.isnat(moments)
        months = moments.astype("datetime64[M]").astype(np.int64) % 12
        weekdays = (moments.astype("datetime64[D]").astype(np.int64) + 3) % 7  # the first of 1970 was a Thursday
        return {
            self.name: days,
            MONTH.format(self.name): _circle(months / 12, missing),
            WEEKDAY.format(self.name): _circle(weekdays / 7, missing),
        }

    def vectors(self) -> Array:
        """Stack vectors, one a row; a missing vector becomes a row of NaN."""
        if isinstance(self.cells, TextCells) or self.cells.dtype.kind != "O":
            self.fitting(np.empty(0), _present(self.cells))
            return np.full((len(self.cells), max(self.how.width, 1)), np.nan)
        if self.strict:
            return _block(self.name, self.cells, _present(self.cells), self.how.width)
        block = np.full((len(self.cells), self.how.width), np.nan)
        for row, cell in enumerate(self.cells):
            if (vector := _vector(cell, self.how.width)) is not None:
                block[row] = vector
        return block

    def fitting(self, values: Array, unread: Mask) -> Array:
        """The values, unless more than a few could not be read."""
        if not self.strict or not unread.any():
            return values
        row, count = int(unread.argmax()), int(unread.sum())
        kind, example = WORDS[self.how.kind], shown_cell(cell_at(self.cells, row))
        error = DataError("data.cell-does-not-fit", column=self.name, kind=kind, count=count, example=example, row=row)
        if len(values) < len(unread) or not are_few(count, int(_present(self.cells).sum())):
            raise error
        self.notes.append(Note(UNREAD_CELLS, error.note.facts))
        return values


def _circle(turns: npt.NDArray[np.float64], missing: Mask) -> Array:
    """Points on a circle, so that December lies beside January."""
    angles = 2 * np.pi * turns
    return np.where(missing[:, None], np.nan, np.column_stack([np.cos(angles), np.sin(angles)]))


def _vector(cell: Any, width: int) -> Array | None:
    try:
        vector = np.asarray(cell, dtype=np.float64)
    except Exception:  # numbers may be objects that raise anything
        return None
    return vector if vector.shape == (width,) and not (np.abs(vector) > LARGEST).any() else None


def _encoded(
    name: str, cells: ColumnCells, how: ColumnReading, encoder: Encoder, *, strict: bool
) -> tuple[Array, ColumnReading, tuple[Note, ...]]:
    from fedbary.data.encoders import encoded

    if how.kind == "text":  # 12 and 12.0 are one text
        cells = as_texts(cells)
    objects = cells.spread(np.fromiter(cells.levels, dtype=object), None) if isinstance(cells, TextCells) else cells
    kind: Literal["image", "text"] = "image" if how.kind == "image" else "text"
    found = encoded(objects.tolist(), encoder, kind=kind, name=name, agreed=how, alone=not strict)
    return found.block, replace(how, encoder=found.encoder, digest=found.digest), found.notes


def cell_at(cells: ColumnCells, row: int) -> Any:
    """A cell as it came, to be shown to its owner."""
    if isinstance(cells, TextCells):
        return None if cells.codes[row] < 0 else cells.levels[cells.codes[row]]
    return str(cells[row]) if cells.dtype.kind == "M" else cells[row : row + 1].tolist()[0]


def _truths(cells: TextCells) -> npt.NDArray[np.float64]:
    numbers = cells.number_texts.numbers()
    found = np.where(np.isin(numbers, (0.0, 1.0)), numbers, np.nan)
    for place in np.flatnonzero(np.isnan(found)).tolist():
        found[place] = BOOLEANS.get(cells.telling[place].lower(), np.nan)
    return found


def as_texts(cells: ColumnCells) -> TextCells:
    """Numbers, booleans and moments as they are written."""
    if isinstance(cells, TextCells):
        return cells
    if cells.dtype.kind == "O":
        return TextCells([], np.full(len(cells), -1))
    present = _present(cells)
    values, codes = np.unique(cells[present], return_inverse=True)
    found = np.full(len(cells), -1)
    found[present] = codes
    return TextCells([written(value) for value in values.tolist()], found)


def _present(cells: ColumnCells) -> Mask:
    if isinstance(cells, TextCells):
        return cells.codes >= 0
    if cells.dtype.kind == "O":
        return np.array([cell is not None for cell in cells], dtype=bool)
    return ~_unknown(cells)


def _unknown(values: Array) -> Mask:
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _block(name: str, objects: Array, present: Mask, agreed: int) -> Array:
    width = agreed or (len(objects[present][0]) if present.any() else 0)
    for row, vector in zip(np.flatnonzero(present), objects[present], strict=True):
        if not isinstance(vector, list | tuple | np.ndarray) or len(vector) != width:
            found = f"{len(vector)} numbers" if hasattr(vector, "__len__") else repr(vector)
            raise DataError("data.vectors-differ", column=name, width=width, row=int(row), found=found)
    try:
        stacked = np.stack([np.asarray(vector) for vector in objects[present]])
        stacked = stacked.astype(block_dtype(stacked.dtype) if stacked.dtype.kind in "biuf" else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("data.vectors-not-numbers", column=name) from error
    if stacked.ndim != 2 or width == 0:
        raise DataError("data.vectors-shape", column=name, shape=str(stacked.shape[1:]))
    block = np.full((len(objects), width), np.nan, dtype=stacked.dtype)
    block[present] = stacked
    refuse_infinite(name, block)
    return block
