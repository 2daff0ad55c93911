"""`Column`: how one column of a file is read, a class for each kind; its objects are what a `Reading` agrees on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from fedbary.columns.arrays import Array
from fedbary.columns.cells import ColumnCells, Mask, TextCells, cell_at, present_cells
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import is_clean, shown_cell

UNREAD, UNREAD_CELLS = "data.column-left-out", "data.cells-unread"
# Cells that cannot be read count as missing up to so many of a column, or up to this share of it.
_FEW, _FEW_SHARE = 5, 0.05
_MOST_LEVELS, _MOST_NUMBERS, _LONGEST_NAME = 1_000, 10**6, 10_000


@dataclass
class Clues:
    """What the kind of a column is guessed by, and what is to be said of the guess.

    Parameters
    ----------
    name, cells
        The column.
    decimal
        The decimal point that its owner asked for, if any.
    kept
        Whether its owner asked for this column by name: then it does not name rows.
    notes
        Codes of what the owner is told; a kind that takes the column adds its own.
    """

    name: str
    cells: ColumnCells
    decimal: str | None = None
    kept: bool = False
    notes: list[str] = field(default_factory=list)
    # What `fedbary.columns.category.names_rows` found; several kinds ask.
    names_rows: bool | None = None

    @property
    def texts(self) -> TextCells | None:
        """Texts about whose kind the column's type says nothing."""
        return self.cells if isinstance(self.cells, TextCells) and not self.cells.declared else None


@dataclass(frozen=True)
class Column:
    """How a column is read: a subclass for each kind, with what else is needed to read a cell of it.

    A subclass is listed in `fedbary.columns.KINDS`, and says of its cells:

    Attributes
    ----------
    kind : str
        Its name in the JSON of a reading, and on screens.
    words, plural : str
        What a cell is called, and many of them.
    option : str
        The field of `ReadOptions` that names such columns: ``kinds``, or one of its own; empty where none does.
    schema_kinds : tuple of str
        What the columns that it makes may be called in a schema, the usual one first.
    marks : frozenset of str
        Texts that stand for a missing cell, in small letters.
    left_out : bool
        Whether the column is in the file and not in the table.
    as_written : bool
        Whether a text format keeps its cells as they are written: as a number, a postcode has lost its zeros.
    of_objects : bool
        Whether cells are objects, such as vectors, rather than texts.

    Fields that are not compared are how one owner writes its cells, which is nobody else's business.
    """

    kind: ClassVar[str]
    words: ClassVar[str] = ""
    plural: ClassVar[str] = ""
    option: ClassVar[str] = "kinds"
    schema_kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    marks: ClassVar[frozenset[str]] = frozenset()
    left_out: ClassVar[bool] = False
    as_written: ClassVar[bool] = False
    of_objects: ClassVar[bool] = False

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """The kind of a column whose type and cells say so; where it is None the next class is asked."""

    @classmethod
    def told(cls, said: str, names: Sequence[str]) -> tuple[str, Column]:  # noqa: ARG003 - some look for names
        """What an entry of the option says: the name of a column, and how it is read."""
        return said, cls()

    def as_it_is_written(self, clues: Clues) -> Self:  # noqa: ARG002 - some kinds are written in several ways
        """The same kind, with how this owner writes its cells."""
        return self

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """The value of each cell by itself, and which of them could not be read; no cell raises anything."""
        raise NotImplementedError

    def read_all(self, name: str, cells: ColumnCells) -> tuple[Array, tuple[Note, ...]]:
        """The values of a whole column: a few cells that could not be read are noted, more of them are refused."""
        values, unread = self.read(cells)
        if not unread.any():
            return values, ()
        count = int(unread.sum())
        error = self._misfit(name, cells, unread)
        if not are_few(count, int(present_cells(cells).sum())):
            raise error
        return values, (Note(UNREAD_CELLS, error.note.facts),)

    def _misfit(self, name: str, cells: ColumnCells, unread: Mask) -> DataError:
        row, count = int(unread.argmax()), int(unread.sum())
        example = shown_cell(cell_at(cells, row))
        return DataError("data.cell-does-not-fit", column=name, kind=self.words, count=count, example=example, row=row)

    def arrays(self, name: str, values: Array) -> dict[str, Array]:
        """The columns of the table that the values become, by the names that `made` has."""
        return {name: values}

    def made(self, name: str) -> tuple[str, ...]:
        """The names of the table's columns that a column of the file becomes."""
        return () if self.left_out else (name,)

    @property
    def meaning(self) -> Column:
        """What counts where two readings are compared."""
        return self

    @property
    def in_words(self) -> str:
        """What the column holds, for a sentence."""
        return self.plural

    def option_value(self, name: str) -> str:
        """What to type behind the option, for a column of that name."""
        return f"{name}={self.kind}" if self.option == "kinds" else name

    def shared(self) -> Self:
        """Without how one owner writes its cells."""
        return replace(self, **{one.name: "" for one in fields(self) if not one.compare})

    def to_json(self) -> dict[str, Any]:
        """What others are told of it."""
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.compare}
        return {"kind": self.kind} | {name: value for name, value in said.items() if value}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """What `to_json` made; raises ValueError, and nothing else, for anything else."""
        known = {one.name: _CHECKS[one.name] for one in fields(cls) if one.compare}
        if not found.keys() <= {"kind", *known}:
            raise ValueError("not the reading of a column")
        return cls(**{name: check(found[name]) for name, check in known.items() if name in found})


def are_few(unread: int, present: int) -> bool:
    """Whether so many of a column's cells may be missing because they cannot be read."""
    return unread <= max(_FEW, _FEW_SHARE * present) and 2 * unread < present


def mostly(clues: Clues, cells: TextCells, read: Mask, kinds: str) -> bool:
    """Whether all telling levels but a few cells can be read; where most can and more than a few cannot, a DataError.

    These few are said to be missing when they are read.
    """
    counts = cells.counts()[~cells.marks]
    if read.all() or counts[read].sum() <= counts.sum() / 2:
        return False
    if not are_few(int(counts[~read].sum()), int(counts.sum())):
        odd = cells.telling[int(np.argmin(read))]
        row = cells.row_of(list(cells.levels).index(odd))
        raise DataError("data.mixed-column", column=clues.name, example=shown_cell(odd), row=row, kinds=kinds)
    return True


def clean_name(text: object) -> str:
    """A name that came from elsewhere, or a ValueError."""
    if not isinstance(text, str) or len(text) > _LONGEST_NAME or not is_clean(text):
        raise ValueError("not a name")
    return text


def _levels(found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or len(found) > _MOST_LEVELS:
        raise ValueError("no levels")
    return tuple(map(clean_name, found))


def _width(found: object) -> int:
    if type(found) is not int or not 0 <= found <= _MOST_NUMBERS:
        raise ValueError("not a width")
    return found


_CHECKS: dict[str, Any] = {"levels": _levels, "encoder": clean_name, "digest": clean_name, "width": _width}
