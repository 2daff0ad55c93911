"""`Identifier` and `Dropped`: columns that name rows rather than describe them, and such as are not wanted.

Nothing can be learnt from names, and they say who is who.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np

from fedbary.columns.arrays import Array
from fedbary.columns.column import MARKS, Clues, Column, ColumnCells, Mask, TextCells, as_texts
from fedbary.errors import wrong_parameter
from fedbary.wording import on_one_line

ROW_NUMBERS, ALL_DIFFERENT = "data.left-out-row-numbers", "data.left-out-all-different"
# Below so many rows anything can be all different by chance.
_ENOUGH_ROWS = 20
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDS = {"id", "ids", "uuid", "guid", "identifier", "rowid", "rownum", "unnamed"}
_NUMBERS = {"number", "no", "nr", "num", "nummer", "key", "code"}
_THINGS = {
    "sample", "patient", "case", "record", "row", "customer", "client", "account", "person", "subject", "order",
    "invoice", "ticket", "user", "member", "employee", "student", "policy", "serial", "registration", "passport",
    "phone", "telephone", "line", "sequence", "participant", "specimen", "admission", "visit", "transaction", "booking",
}  # fmt: skip
# What a person may have several of, and numbers of rows.
_EVENTS = {
    "sample", "record", "row", "order", "invoice", "ticket", "line", "sequence", "specimen", "admission", "visit",
    "transaction", "booking", "serial", "case", "unnamed", "rowid", "rownum",
}  # fmt: skip
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
# Texts of so many words on average, in more than so many different ones, are sentences.
_SENTENCE, _FEW_LEVELS = 5, 20


@dataclass(frozen=True)
class Dropped(Column):
    """A column that is left out because it is not wanted, or cannot be read."""

    kind: ClassVar[str] = "dropped"
    plural: ClassVar[str] = "a column to leave out"
    option: ClassVar[str] = ""
    left_out: ClassVar[bool] = True


@dataclass(frozen=True)
class Identifier(Column):
    """A column that names rows."""

    kind: ClassVar[str] = "identifier"
    plural: ClassVar[str] = "an identifier to leave out"
    option: ClassVar[str] = ""
    left_out: ClassVar[bool] = True
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        if not names_rows(clues):
            return None
        if clues.texts is not None:
            clues.notes.append(ALL_DIFFERENT)
        else:
            clues.notes.append("data.left-out-named-like-ids" if _is_named(clues) else ROW_NUMBERS)
        return cls()


def names_rows(clues: Clues) -> bool:
    """Whether numbers, or texts of no other kind, name rows."""
    if clues.names_rows is None:
        cells = clues.texts
        if clues.kept:
            clues.names_rows = False
        elif cells is not None:
            levels = names_of(cells)
            looks = not is_free_text(levels, len(cells)) and look_like_ids(clues.name, levels, cells.present)
            clues.names_rows = looks
        else:
            numbers = not isinstance(clues.cells, TextCells) and clues.cells.dtype.kind in "iuf"
            clues.names_rows = numbers and (_is_named(clues) or are_row_numbers(np.asarray(clues.cells)))
    return clues.names_rows


def names_of(cells: TextCells) -> Sequence[str]:
    """The levels that do not stand for a missing cell, where they are names."""

    def names() -> list[str]:
        return [level for level, mark in zip(cells.levels, cells.among(MARKS), strict=True) if not mark]

    return cells.once("names", names)


def is_free_text(levels: Sequence[str], rows: int) -> bool:
    """Whether texts are sentences rather than names."""
    if len(levels) <= max(_FEW_LEVELS, rows // 5):
        return False
    return sum(level.count(" ") + 1 for level in levels) >= _SENTENCE * len(levels)


def _is_named(clues: Clues) -> bool:
    if not is_named_like_an_id(clues.name):
        return False
    cells = np.asarray(clues.cells)
    if cells.dtype.kind in "iu":
        return True
    present = cells[~np.isnan(cells)]
    return len(present) > 0 and bool(np.all(present == np.round(present)))


def is_named_like_an_id(name: str) -> bool:
    """Whether a column's name says that it names rows."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if words[0] in _IDS or words[-1] in _IDS:
        return True
    return words[-1] in _NUMBERS and any(word in _THINGS for word in words[:-1])


def may_name_persons(name: str) -> bool:
    """Whether a column of such a name may say whose a row is."""
    return is_named_like_an_id(name) and not _EVENTS.intersection(word.lower() for word in _WORD.findall(name))


def are_row_numbers(cells: Array) -> bool:
    """Whether whole numbers are all different and leave no gap, as numbers of rows do.

    Years do that, too, where there is one row for each.
    """
    if len(cells) < _ENOUGH_ROWS or (cells.dtype.kind == "f" and np.isnan(cells).any()):
        return False
    first, last = float(cells.min()), float(cells.max())
    if not first.is_integer() or last - first + 1 != len(cells) or (first >= 1000 and last < 3000 and len(cells) < 300):
        return False
    return bool(np.array_equal(np.sort(cells), np.arange(len(cells)) + first))


def look_like_ids(name: str, levels: Sequence[str], rows: int) -> bool:
    """Whether texts name rows: all of them are different, or most are and the column is called like an id."""
    if rows == 0:
        return False
    if len(levels) == rows and (rows >= _ENOUGH_ROWS or (rows > 1 and is_named_like_an_id(name))):
        return True
    if 2 * len(levels) > rows >= _ENOUGH_ROWS and is_named_like_an_id(name):
        return True
    return len(levels) > 1 and all(_UUID.fullmatch(level) for level in levels)


_MOST_SHOWN = 5


@dataclass(frozen=True)
class Category(Column):
    """One of several names."""

    kind: ClassVar[str] = "category"
    words: ClassVar[str] = "a category"
    plural: ClassVar[str] = "categories"
    option: ClassVar[str] = "categories"
    schema_kinds: ClassVar[tuple[str, ...]] = ("categorical",)
    marks: ClassVar[frozenset[str]] = MARKS
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """All texts that no other kind took."""
        texts = isinstance(clues.cells, TextCells)
        return cls() if texts and (clues.texts is None or not names_rows(clues)) else None

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """What the category of each cell is called, None where it is missing."""
        cells = as_texts(cells)
        names = np.fromiter(map(category_name, cells.levels), dtype=object)
        names[cells.among(MARKS)] = None
        return cells.spread(names, None), np.zeros(len(cells), dtype=bool)


@dataclass(frozen=True)
class Ordered(Column):
    """The place of a name among ``levels``, lowest first; one that was not named is missing."""

    levels: tuple[str, ...] = ()

    kind: ClassVar[str] = "ordered"
    words: ClassVar[str] = "an ordered category"
    plural: ClassVar[str] = "ordered"
    option: ClassVar[str] = "ordered"
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        cells = clues.cells
        ordered = isinstance(cells, TextCells) and cells.declared == "ordered" and len(cells.levels) > 1
        return cls(tuple(cells.levels)) if ordered and isinstance(cells, TextCells) else None

    @classmethod
    def told(cls, said: str, names: Sequence[str]) -> tuple[str, Column]:  # noqa: ARG003 - as in `Column`
        """A column's name with its levels, such as size=S<M<L."""
        name, _, levels = said.partition("=")
        named = tuple(level.strip() for level in levels.split("<") if level.strip())
        if len(named) < 2 or len(set(map(category_name, named))) < len(named):
            raise wrong_parameter("ordered", "ReadOptions", "columns with their levels, such as size=S<M<L", said)
        return name.strip(), cls(named)

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        places = {category_name(level): float(place) for place, level in enumerate(self.levels)}
        texts = as_texts(cells)
        values = np.array([places.get(category_name(level), np.nan) for level in texts.levels], dtype=np.float64)
        return texts.spread(values, np.nan), np.zeros(len(texts), dtype=bool)

    @property
    def in_words(self) -> str:
        if not self.levels:
            return self.plural
        more = " < …" if len(self.levels) > _MOST_SHOWN else ""
        return f"ordered levels {' < '.join(map(on_one_line, self.levels[:_MOST_SHOWN]))}{more}"

    def option_value(self, name: str) -> str:
        return f"{name}={'<'.join(self.levels)}"


_TRUTHS = {"true": "1", "false": "0"}


def category_name(cell: Any) -> str:
    """The name of a cell's category, by that cell alone; for levels and classes, with and without ε.

    A number is called as Python writes it, a whole one without its ``.0``; True and False are called 1 and 0, also
    where they are texts, in whatever letters. Any other text is its own name, without blanks around it. So 1, 1.0,
    True, "1", " 1.0" and "TRUE" are one category, and "007" and "7" are two, as are "1e3" and "1000".
    """
    if isinstance(cell, bool | np.bool_):
        return str(int(cell))
    if isinstance(cell, float | np.floating):
        number = float(cell)
        return str(int(number)) if isfinite(number) and number.is_integer() else repr(number)
    text = str(cell).strip()
    if text[-1:] in ("0", "e", "E"):  # of most texts a look at the end is enough
        whole, _, zeros = text.partition(".")
        digits = whole.removeprefix("-")
        if zeros and not zeros.strip("0") and digits.isascii() and digits.isdigit():
            return whole
        return _TRUTHS.get(text.lower(), text)
    return text


def category_names(values: Array) -> Array:
    """The names of many cells, None where one is missing."""
    import pandas as pd

    codes, different = pd.factorize(values)  # categories are few, cells many
    names = np.empty(len(different) + 1, dtype=object)  # the last one, of a missing cell, whose code is −1, stays None
    names[:-1] = [category_name(cell) for cell in different.tolist()]
    return names[codes]


def two_spellings(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two of some names that are spelled differently and call one category."""
    found: dict[str, str] = {}
    for name in names:
        first = found.setdefault(category_name(name), name)
        if first != name:
            return first, name
    return None
