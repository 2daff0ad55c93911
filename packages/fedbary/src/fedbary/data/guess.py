"""`guess_reading`: which kind each column of a file is, by what was asked, what was agreed, and then by rules.

The rules look at a column's type and at whether all of its cells can be read as a kind. What they decide is noted for
the owner and stated to others; nothing is decided twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedbary.data.arrow_texts import Mask, matches
from fedbary.data.column_cells import ColumnCells, Form, TextCells, form_of
from fedbary.data.columns import Array
from fedbary.data.date_texts import ORDERS, are_day_numbers, order_of
from fedbary.data.identifiers import are_row_numbers, is_named_like_an_id, look_like_ids
from fedbary.data.number_texts import MARKS, NUMBER_MARKS
from fedbary.data.options import Encoder, ReadOptions
from fedbary.data.read_columns import BOOLEANS, are_few, left_out
from fedbary.data.reading import LEFT_OUT, ColumnReading, Reading, ReadKind
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import on_one_line, shown_cell

# A text column with more different values than this, and than half of the rows, is no list of categories.
_MANY_LEVELS = 100
# Texts of so many words on average, in more than so many different ones, are sentences.
_SENTENCE, _FEW_LEVELS = 5, 20


def guess_reading(
    cells: Mapping[str, ColumnCells], options: ReadOptions, known: Reading, *, agreed: bool = False
) -> tuple[Reading, tuple[Note, ...]]:
    """Decide how each column is read whose reading is not ``known`` yet, and note what was guessed.

    A column that cannot be read is left out, with the reason; where it was ``agreed`` which columns are used, and it is
    none of them, without. Only where no column is left the first such reason is raised.

    Examples
    --------
    >>> cells = {"ill": TextCells(["yes", "no"], np.array([0, 1, 0]))}
    >>> reading, notes = guess_reading(cells, ReadOptions(), Reading())
    >>> reading["ill"].kind, [str(note) for note in notes]
    ('boolean', ["'ill' is read as true or false"])
    """
    guesses = _Guesses(options, agreed)
    found: dict[str, ColumnReading] = {}
    for name in cells:
        found[name] = guesses.of(name, cells, known.get(name))
    guesses.doubt_points(found, cells)
    return Reading(guesses.with_texts(found, cells)), guesses.notes()


def _as_written(name: str, cells: TextCells, known: ColumnReading, options: ReadOptions) -> ColumnReading:
    """A kind that is known, and how this owner writes it."""
    if known.kind == "number":
        return replace(known, decimal=_decimal(name, cells, options, known.decimal))
    return replace(known, order=known.order or _order(name, cells)) if known.kind == "date" else known


def _decimal(name: str, cells: TextCells, options: ReadOptions, before: str = "") -> str:
    """The decimal point of numbers that are written as text."""
    if options.decimal is not None:
        return options.decimal
    found = cells.number_texts.decimal()
    if found == "both" or (found == "unclear" and not before):
        example = next(level for sign in ",." for level in cells.telling if sign in level)
        raise DataError("data.decimal-unclear", column=name, example=example)
    return before if found in ("", "unclear") else found


def _order(name: str, cells: TextCells) -> str:
    """Whether the day or the month comes first in dates that are written as text."""
    found = cells.date_order
    if found in ("both", "unclear"):
        example = next(level for level in cells.telling if order_of([level]))
        raise DataError("data.dates-unclear", column=name, example=example)
    return found


@dataclass
class _Guesses:
    """Guesses for the columns of one file, and the notes on them."""

    options: ReadOptions
    agreed: bool = False
    columns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[str, None] = field(default_factory=dict)
    sentences: dict[str, TextCells] = field(default_factory=dict)
    unread: list[DataError] = field(default_factory=list)

    def of(self, name: str, cells: Mapping[str, ColumnCells], known: ColumnReading | None) -> ColumnReading:
        """The kind of one column."""
        try:
            column = cells[name]
            if known is None:
                return self._of(name, column)
            return _as_written(name, column, known, self.options) if isinstance(column, TextCells) else known
        except DataError as error:
            if self.agreed and known is None:
                return self._unused(name)
            self.unread.append(error)
            return ColumnReading("dropped")

    def _unused(self, name: str) -> ColumnReading:
        self.columns["data.left-out-unused"].append(name)
        return ColumnReading("dropped")

    def _of(self, name: str, cells: ColumnCells) -> ColumnReading:
        if isinstance(cells, TextCells):
            return self._of_texts(name, cells)
        form = form_of(cells)
        if form == "vectors":
            return ColumnReading("vector", width=_width(cells))
        if form == "numbers" and name not in self.options.columns and self._is_identifier(name, cells):
            return ColumnReading("identifier")
        if form == "numbers" and are_day_numbers(cells[~np.isnan(cells)]):
            return self._dates(name)
        return ColumnReading(_KINDS[form])

    def _dates(self, name: str, order: str = "") -> ColumnReading:
        self.columns["data.read-as-dates"].append(name)
        return ColumnReading("date", order=order)

    def with_texts(self, found: dict[str, ColumnReading], cells: Mapping[str, ColumnCells]) -> dict[str, ColumnReading]:
        """Free text is encoded where that was asked for, or where there is nothing else; else it is left out."""
        asked = self.options.encoder is not None and _suits_text(self.options.encoder)
        alone = all(how.kind in LEFT_OUT for name, how in found.items() if name not in self.sentences)
        if alone and not self.sentences:
            for name in self.columns.pop(_ALL_DIFFERENT, ()):
                column = cells[name]
                assert isinstance(column, TextCells)
                self.sentences[name] = column
                found[name] = ColumnReading("text")
        if alone and not self.sentences:
            found |= {name: ColumnReading("number") for name in self.columns.pop(_ROW_NUMBERS, ())}
        if self.agreed and not asked and not alone:
            return found | {name: self._unused(name) for name in self.sentences}
        for name, column in self.sentences.items():
            if not asked and not (alone and len(self.sentences) == 1):
                different, example = len(column.levels), on_one_line(column.levels[0], 80)
                self.unread.append(
                    DataError("data.free-text", column=name, different=different, rows=len(column), example=example)
                )
                found[name] = ColumnReading("dropped")
            elif not asked:
                self.columns["data.encoded-by-hashing"].append(name)
        if self.unread and all(how.kind in LEFT_OUT for how in found.values()):
            raise self.unread[0]
        return found

    def doubt_points(self, found: Mapping[str, ColumnReading], cells: Mapping[str, ColumnCells]) -> None:
        """Where other columns have decimal commas, 1.234 could be more than a thousand."""
        numbers = [name for name, how in found.items() if how.kind == "number"]
        if self.options.decimal is None and any(found[name].decimal == "," for name in numbers):
            self.columns["data.points-beside-commas"] += [name for name in numbers if _may_be_thousands(cells[name])]

    def notes(self) -> tuple[Note, ...]:
        """What was guessed, one note for each thing."""
        found = []
        for code, names in filter(lambda item: item[1], self.columns.items()):
            marks = {"marks": tuple(self.marks)} if code == _MARKED else {}
            found.append(Note(code, {"columns": tuple(names), **marks}))
        return (*found, *map(left_out, self.unread))

    def _of_texts(self, name: str, cells: TextCells) -> ColumnReading:
        if cells.declared == "ordered" and len(cells.levels) > 1:
            return ColumnReading("ordered", levels=tuple(cells.levels))
        if cells.declared:
            return ColumnReading("category")
        guessed = self._of_parseable(name, cells)
        self._mark(name, cells, MARKS if guessed is None else NUMBER_MARKS)
        return self._of_names(name, cells) if guessed is None else guessed

    def _of_names(self, name: str, cells: TextCells) -> ColumnReading:
        """Categories, names of rows, or free text."""
        levels = [level for level, mark in zip(cells.levels, cells.among(MARKS), strict=True) if not mark]
        sentences = is_free_text(levels, len(cells))
        if not sentences and name not in self.options.columns and look_like_ids(name, levels, cells.present):
            self.columns[_ALL_DIFFERENT].append(name)
            return ColumnReading("identifier")
        if sentences or len(levels) > max(_MANY_LEVELS, len(cells) // 2):
            self.sentences[name] = cells
            return ColumnReading("text")
        return ColumnReading("category")

    def _of_parseable(self, name: str, cells: TextCells) -> ColumnReading | None:
        """Booleans, numbers or dates: kinds that all cells can be read as."""
        levels = cells.telling
        if not levels:
            return None
        if _are_truths(levels):
            if not {level.lower() for level in levels} <= {"true", "false"}:
                self.columns["data.read-as-booleans"].append(name)
            return ColumnReading("boolean")
        dates = _readable_as_dates(cells)
        texts = cells.number_texts
        if dates.all() or (texts.points.all() and are_day_numbers(texts.numbers())):
            return self._dates(name, _order(name, cells) if dates.all() else "")
        numbers = _readable_as_numbers(cells, self.options.decimal or "")
        if numbers.all() and not texts.have_codes() and len(texts.units()) <= 1:
            decimal = _decimal(name, cells, self.options)
            self.columns["data.read-as-numbers"].append(name)
            return ColumnReading("number", decimal=decimal)
        counts = cells.counts()[~cells.marks]
        for what, read in (("numbers", numbers), ("dates", dates)):
            if not read.all() and counts[read].sum() > counts.sum() / 2:
                if not are_few(int(counts[~read].sum()), int(counts.sum())):
                    raise _mixed(name, cells, levels[int(np.argmin(read))], what)
                return self._of_most(name, cells, what)
        return None

    def _of_most(self, name: str, cells: TextCells, what: str) -> ColumnReading:
        """What all cells but a few can be read as; these are said to be missing when they are read."""
        if what == "dates":
            return self._dates(name, _order(name, cells))
        return ColumnReading("number", decimal=_decimal(name, cells, self.options))

    def _is_identifier(self, name: str, cells: Array) -> bool:
        named = is_named_like_an_id(name) and _are_whole(cells)
        if named or are_row_numbers(cells):
            self.columns["data.left-out-named-like-ids" if named else _ROW_NUMBERS].append(name)
            return True
        return False

    def _mark(self, name: str, cells: TextCells, marks: frozenset[str]) -> None:
        found = np.flatnonzero(cells.among(marks)).tolist()
        if found:
            self.columns[_MARKED].append(name)
            self.marks.update(dict.fromkeys(cells.levels[place] for place in found))


_ROW_NUMBERS = "data.left-out-row-numbers"
_ALL_DIFFERENT = "data.left-out-all-different"
_MARKED = "data.marks-of-missing-cells"
_KINDS: dict[Form, ReadKind] = {"numbers": "number", "booleans": "boolean", "moments": "date", "images": "image"}


def is_free_text(levels: Sequence[str], rows: int) -> bool:
    """Whether texts are sentences rather than names.

    Examples
    --------
    >>> is_free_text([f"The patient number {row} slept quite badly." for row in range(30)], 30)
    True
    """
    if len(levels) <= max(_FEW_LEVELS, rows // 5):
        return False
    return sum(level.count(" ") + 1 for level in levels) >= _SENTENCE * len(levels)


def _are_truths(levels: Sequence[str]) -> bool:
    """Whether all texts are words for true and false; a single letter alone could be anything."""
    words = {level.lower() for level in levels[: 10 * len(BOOLEANS)]}
    return words <= BOOLEANS.keys() and (len(words) > 1 or max(map(len, words)) > 1)


def _readable_as_numbers(cells: TextCells, decimal: str) -> Mask:
    """Also 1,234, whichever number that is; but no truths, which are numbers only where that was agreed."""
    found = ~np.isnan(cells.number_texts.numbers(decimal))
    if not decimal and not found.all():
        found |= ~np.isnan(cells.number_texts.numbers(","))
    return found & ~matches(cells.number_texts.written, "(?i)true|false")


def _readable_as_dates(cells: TextCells) -> Mask:
    """Also 03/04/2020, whichever day that is; but 2020 among numbers is one of them."""
    texts = cells.number_texts
    if 2 * int((texts.points | texts.commas).sum()) > len(texts.points):
        return np.zeros(len(texts.points), dtype=bool)
    orders = ORDERS if cells.date_order in ("both", "unclear") else (cells.date_order,)
    return np.asarray(np.any([~np.isnat(cells.moments(one)) for one in orders], axis=0))


def _may_be_thousands(cells: ColumnCells) -> bool:
    """Whether numbers with a point have three digits behind it, as far as these are not zeros."""
    if isinstance(cells, TextCells) or cells.dtype.kind != "f":
        return False
    present = cells[np.isfinite(cells)]
    return bool((present % 1).any() and (np.abs(present * 1000 - np.round(present * 1000)) < 1e-6).all())


def _mixed(name: str, cells: TextCells, odd: str, what: str) -> DataError:
    row = cells.row_of(list(cells.levels).index(odd))
    return DataError("data.mixed-column", column=name, example=shown_cell(odd), row=row, kinds=what)


def _are_whole(cells: Array) -> bool:
    if cells.dtype.kind in "iu":
        return True
    present = cells[~np.isnan(cells)]
    return len(present) > 0 and bool(np.all(present == np.round(present)))


def _width(cells: Array) -> int:
    first = next((cell for cell in cells if cell is not None), ())
    return len(first) if hasattr(first, "__len__") else 0


def _suits_text(encoder: Encoder) -> bool:
    from fedbary.data.encoders import suits

    return bool(suits(encoder, "text"))
