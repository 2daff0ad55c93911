"""`Number` and `Boolean`: what is measured or counted, and what is true or false."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from fedbary.columns.arrays import Array, measured
from fedbary.columns.category import names_rows
from fedbary.columns.column import (
    NUMBER_MARKS,
    Clues,
    Column,
    ColumnCells,
    Mask,
    TextCells,
    form_of,
    matches,
    mostly,
    present_cells,
)
from fedbary.columns.date import Date
from fedbary.columns.number_texts import number_texts
from fedbary.errors import DataError
from fedbary.notes import Note


@dataclass(frozen=True)
class Number(Column):
    """A number; ``decimal`` is how this owner writes its point, empty where each cell says it by itself."""

    decimal: str = field(default="", compare=False)

    kind: ClassVar[str] = "number"
    words: ClassVar[str] = "a number"
    plural: ClassVar[str] = "numbers"
    option: ClassVar[str] = "numeric"
    schema_kinds: ClassVar[tuple[str, ...]] = ("numeric", "boolean")
    marks: ClassVar[frozenset[str]] = NUMBER_MARKS

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Arrays of numbers, and texts that all can be read as such, or all but a few."""
        cells = clues.texts
        if cells is None:
            numbers = form_of(clues.cells) == "numbers" and not names_rows(clues)
            return cls() if numbers and not Date.fits(clues) else None
        if not cells.telling or Date.fits(clues):
            return None
        texts, read = number_texts(cells), _readable_as_numbers(cells, clues.decimal or "")
        if read.all() and not texts.have_codes() and len(texts.units()) <= 1:
            clues.notes.append("data.read-as-numbers")
            return cls(_decimal(clues, cells))
        return cls(_decimal(clues, cells)) if mostly(clues, cells, read, "numbers") else None

    def as_it_is_written(self, clues: Clues) -> Self:
        cells = clues.cells
        return replace(self, decimal=_decimal(clues, cells, self.decimal)) if isinstance(cells, TextCells) else self

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """Without those that nothing measures."""
        if isinstance(cells, TextCells):
            values, unread = cells.spread_telling(number_texts(cells).numbers(self.decimal))
        elif cells.dtype.kind in "biuf":
            values, unread = cells.astype(np.float64), np.zeros(len(cells), dtype=bool)
        else:
            return np.full(len(cells), np.nan), present_cells(cells)
        return measured(values, unread)


@dataclass(frozen=True)
class Boolean(Column):
    """True or false, 1 or 0."""

    kind: ClassVar[str] = "boolean"
    words: ClassVar[str] = "true or false"
    plural: ClassVar[str] = "booleans"
    option: ClassVar[str] = "numeric"
    schema_kinds: ClassVar[tuple[str, ...]] = ("boolean", "numeric")
    marks: ClassVar[frozenset[str]] = NUMBER_MARKS

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Arrays of truths, and texts that all are words for them; a single letter alone could be anything."""
        cells = clues.texts
        if cells is None:
            return cls() if form_of(clues.cells) == "booleans" else None
        words = {level.lower() for level in cells.telling[: 10 * len(_TRUE_OR_FALSE)]}
        if not words or not words <= _TRUE_OR_FALSE.keys() or (len(words) == 1 and max(map(len, words)) == 1):
            return None
        if not words <= {"true", "false"}:
            clues.notes.append("data.read-as-booleans")
        return cls()

    @property
    def meaning(self) -> Column:
        """One maker's 0 and 1 are another's False and True."""
        return Number()

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """0, 1, or NaN: an array of truths has no room for a missing one."""
        if isinstance(cells, TextCells):
            numbers = number_texts(cells).numbers()
            found = np.where(np.isin(numbers, (0.0, 1.0)), numbers, np.nan)
            for place in np.flatnonzero(np.isnan(found)).tolist():
                found[place] = _TRUE_OR_FALSE.get(cells.telling[place].lower(), np.nan)
            return cells.spread_telling(found)
        values, unread = Number().read(cells)
        odd = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
        return np.where(odd, np.nan, values), unread | odd

    def read_all(self, name: str, cells: ColumnCells) -> tuple[Array, tuple[Note, ...]]:
        """As truths where none is missing, which only a whole column says."""
        values, notes = super().read_all(name, cells)
        return values if np.isnan(values).any() else values.astype(bool), notes


# In English, and as German and French spreadsheets write them.
_TRUE_OR_FALSE = {
    **dict.fromkeys(("true", "yes", "y", "t", "wahr", "ja", "vrai", "oui"), 1.0),
    **dict.fromkeys(("false", "no", "n", "f", "falsch", "nein", "faux", "non"), 0.0),
}


def _decimal(clues: Clues, cells: TextCells, before: str = "") -> str:
    """The decimal point of numbers that are written as text."""
    if clues.decimal is not None:
        return clues.decimal
    found = number_texts(cells).decimal()
    if found == "both" or (found == "unclear" and not before):
        example = next(level for sign in ",." for level in cells.telling if sign in level)
        raise DataError("data.decimal-unclear", column=clues.name, example=example)
    return before if found in ("", "unclear") else found


def _readable_as_numbers(cells: TextCells, decimal: str) -> Mask:
    """Also 1,234, whichever number that is; but no truths, which are numbers only where that was agreed."""
    texts = number_texts(cells)
    found = ~np.isnan(texts.numbers(decimal))
    if not decimal and not found.all():
        found |= ~np.isnan(texts.numbers(","))
    return found & ~matches(texts.written, "(?i)true|false")
