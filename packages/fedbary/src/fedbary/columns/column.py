"""`Column`: how one column of a file is read, a class for each kind; and the cells that it reads, as they came."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import is_clean, shown_cell

Mask = npt.NDArray[np.bool_]
Form = Literal["numbers", "booleans", "moments", "texts", "vectors", "images"]
T = TypeVar("T")

VECTORS = (list, tuple, np.ndarray)
# What people write for a missing cell, in small letters; the empty text is missing anyway.
MARKS = frozenset(
    ("?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "...", "n/a", "na", "n.a.", "#n/a", "<na>", "nan", "null")
)
# These could be names of categories, but say nothing in a column of numbers, dates or truths.
NUMBER_MARKS = MARKS | {"none", "nil", "missing", "unknown", "not available", "not applicable", "#value!", "#div/0!"}


@dataclass(frozen=True)
class TextCells:
    """Texts, each different one once: what is computed of texts is computed of ``levels`` and spread to the cells.

    Parameters
    ----------
    levels
        The different texts, without blanks around them.
    codes
        For each cell the place of its text; −1 where it is missing.
    declared
        ``category`` or ``ordered`` where the column's type says so.
    """

    levels: Sequence[str]
    codes: npt.NDArray[np.intp]
    declared: Literal["", "category", "ordered"] = ""
    _computed: dict[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def once(self, key: str, compute: Callable[[], T]) -> T:
        """What is computed of the levels, kept under a name for whoever asks next."""
        if key not in self._computed:
            self._computed[key] = compute()
        found: T = self._computed[key]
        return found

    def spread(self, values: Array, missing: object) -> Array:
        """The cells' values, of those of the levels."""
        last = np.empty(1, dtype=values.dtype)
        last[0] = missing
        return np.concatenate([values, last])[self.codes]  # the code −1 is the last

    def spread_telling(self, found: Array) -> tuple[Array, Mask]:
        """The cells' values of those of `telling` levels, and which of these have none."""
        nothing = np.datetime64("NaT") if found.dtype.kind == "M" else np.nan
        values = np.full(len(self.levels), nothing, dtype=found.dtype)
        values[~self.marks] = found
        return self.spread(values, nothing), self.spread(_is_nothing(values) & ~self.marks, False)

    @property
    def present(self) -> int:
        """How many cells are not missing."""
        return int((self.codes >= 0).sum())

    @cached_property
    def arrow(self) -> Any:
        """The levels as Arrow has them."""
        return as_arrow(self.levels)

    @cached_property
    def marks(self) -> Mask:
        """Which levels say in a column of numbers, dates or truths that a cell is missing."""
        return self.among(NUMBER_MARKS)

    def among(self, marks: frozenset[str]) -> Mask:
        """Which levels are some of these, in whatever letters."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return as_mask(pc.is_in(pc.utf8_lower(self.arrow), value_set=pa.array(sorted(marks), pa.large_string())))

    @cached_property
    def telling(self) -> Sequence[str]:
        """The levels that are no such marks."""
        if not self.marks.any():
            return self.levels
        return [level for level, mark in zip(self.levels, self.marks, strict=True) if not mark]

    @property
    def telling_arrow(self) -> Any:
        """The same as Arrow has them."""
        return self.arrow.filter(~self.marks) if self.marks.any() else self.arrow

    def counts(self) -> npt.NDArray[np.intp]:
        """How many cells have each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.levels))

    def row_of(self, level: int) -> int:
        """The first row with a level."""
        return int(np.argmax(self.codes == level))


ColumnCells = TextCells | Array


def form_of(cells: ColumnCells) -> Form:
    """Which of the forms cells have."""
    if isinstance(cells, TextCells):
        return "texts"
    if cells.dtype.kind == "O":
        return "vectors" if any(isinstance(cell, VECTORS) for cell in cells) else "images"
    return {"b": "booleans", "M": "moments"}.get(cells.dtype.kind, "numbers")  # type: ignore[return-value]


def present_cells(cells: ColumnCells) -> Mask:
    """Which cells are not missing."""
    if isinstance(cells, TextCells):
        return cells.codes >= 0
    if cells.dtype.kind == "O":
        return np.array([cell is not None for cell in cells], dtype=bool)
    return ~_is_nothing(cells)


def cell_at(cells: ColumnCells, row: int) -> Any:
    """A cell as it came, to be shown to its owner."""
    if isinstance(cells, TextCells):
        return None if cells.codes[row] < 0 else cells.levels[cells.codes[row]]
    return str(cells[row]) if cells.dtype.kind == "M" else cells[row : row + 1].tolist()[0]


def as_texts(cells: ColumnCells) -> TextCells:
    """Numbers, booleans and moments as they are written."""
    if isinstance(cells, TextCells):
        return cells
    if cells.dtype.kind == "O":
        return TextCells([], np.full(len(cells), -1))
    present = present_cells(cells)
    values, codes = np.unique(cells[present], return_inverse=True)
    found = np.full(len(cells), -1)
    found[present] = codes
    return TextCells([written(value) for value in values.tolist()], found)


def distinct(series: Any) -> TextCells:
    """The texts of a pandas column or an array, without blanks around them."""
    import pandas as pd

    codes, levels = pd.factorize(series)
    return stripped(np.asarray(levels, dtype=object).tolist(), codes)


# All that Python strips: with less, a text would be stripped where another one is, and else not.
_BLANK = r"[\s\pZ\x0b\x1c-\x1f\x{85}]"


def stripped(levels: list[str], codes: npt.NDArray[np.intp], declared: Any = "") -> TextCells:
    """Levels without blanks around them; those that only differ by these become one, and empty ones missing."""
    cells = TextCells(levels, codes, declared)
    if not matches(cells.arrow, f"(?s:{_BLANK}.*|.*{_BLANK}|)").any():
        return cells
    bare = [level.strip() for level in levels]
    places = {level: place for place, level in enumerate(dict.fromkeys(filter(None, bare)))}
    new = np.array([*(places.get(level, -1) for level in bare), -1], dtype=np.intp)
    return TextCells(list(places), new[codes], declared)


def written(value: Any) -> str:
    """A value as text that reads like it."""
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return moment.date().isoformat() if moment.time() == datetime.time() else moment.isoformat(sep=" ")
    if isinstance(value, datetime.timedelta):
        value = value / datetime.timedelta(days=1)
    if isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, numbers.Integral):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def as_arrow(texts: Sequence[str]) -> Any:
    """Texts as an array of Arrow's; halves of characters, which it does not take, are written out."""
    import pyarrow as pa

    try:
        return pa.array(texts, pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException):
        return pa.array([text.encode("utf-8", "backslashreplace").decode() for text in texts], pa.large_string())


def matches(texts: Any, pattern: str) -> Mask:
    """Which texts match a pattern as a whole."""
    import pyarrow.compute as pc

    return as_mask(pc.match_substring_regex(texts, f"^(?:{pattern})$"))


def groups(texts: Any, pattern: str) -> tuple[Mask, dict[str, Any]]:
    """Which texts match a pattern as a whole, and what its named groups hold; empty where one has no part in it."""
    import pyarrow.compute as pc

    found = pc.extract_regex(texts, f"^(?:{pattern})$")
    parts = {field.name: pc.fill_null(pc.struct_field(found, field.name), "") for field in found.type}
    return as_mask(found.is_valid()), parts


def as_mask(found: Any) -> Mask:
    """Arrow's truths as NumPy's; what is missing is not true."""
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def as_numbers(texts: Any, empty: str = "") -> npt.NDArray[np.float64]:
    """Texts that are numbers as Python writes them, each rounded as Python rounds it; an empty one is ``empty``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if empty:
        texts = pc.if_else(pc.equal(texts, ""), empty, texts)
    return np.asarray(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False))


def _is_nothing(values: Array) -> Mask:
    if values.dtype.kind == "M":
        return np.isnat(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


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
