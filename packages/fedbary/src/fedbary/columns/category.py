"""`Category` and `Ordered`, and what a category is called: one name for each level, however a file writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Self

import numpy as np

from fedbary.columns.arrays import Array
from fedbary.columns.cells import MARKS, ColumnCells, Mask, TextCells, as_texts
from fedbary.columns.column import Clues, Column
from fedbary.columns.identifier import names_rows
from fedbary.errors import wrong_parameter
from fedbary.wording import on_one_line

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
        """Columns whose type says it."""
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
        """The place of each level."""
        places = {category_name(level): float(place) for place, level in enumerate(self.levels)}
        texts = as_texts(cells)
        values = np.array([places.get(category_name(level), np.nan) for level in texts.levels], dtype=np.float64)
        return texts.spread(values, np.nan), np.zeros(len(texts), dtype=bool)

    @property
    def in_words(self) -> str:
        """The first levels."""
        if not self.levels:
            return self.plural
        more = " < …" if len(self.levels) > _MOST_SHOWN else ""
        return f"ordered levels {' < '.join(map(on_one_line, self.levels[:_MOST_SHOWN]))}{more}"

    def option_value(self, name: str) -> str:
        """With the levels."""
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
