"""`Identifier` and `Dropped`: columns that name rows rather than describe them, and such as are not wanted.

Nothing can be learnt from names, and they say who is who.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fedbary.columns.arrays import Array
from fedbary.columns.cells import MARKS, TextCells
from fedbary.columns.column import Clues, Column

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
    left_out: ClassVar[bool] = True


@dataclass(frozen=True)
class Identifier(Column):
    """A column that names rows."""

    kind: ClassVar[str] = "identifier"
    plural: ClassVar[str] = "an identifier to leave out"
    left_out: ClassVar[bool] = True
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Whatever `names_rows`."""
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
    return [level for level, mark in zip(cells.levels, cells.among(MARKS), strict=True) if not mark]


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
