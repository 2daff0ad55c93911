"""The cells of one column as they came, in few forms: numbers, booleans, moments, texts, or objects of other libraries.

A cell reads alike whatever form its column has: a number and its text, a moment and its text. What is computed of texts
is computed of each different one once, by Arrow: a loop in Python takes twenty times as long.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array

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
