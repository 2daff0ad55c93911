"""`Reading`: how each column of a file or frame becomes columns of a table; decided, stated, agreed, and read by."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.columns import (
    BY_NAME,
    KINDS,
    Category,
    Clues,
    Column,
    Dropped,
    Encoded,
    Identifier,
    Number,
    Ordered,
    Text,
    guess,
)
from fedbary.columns.arrays import Array
from fedbary.columns.category import ALL_DIFFERENT, ROW_NUMBERS
from fedbary.columns.column import MARKS, UNREAD, ColumnCells, TextCells, clean_name
from fedbary.data.options import Encoder, ReadOptions
from fedbary.errors import DataError, wrong_parameter
from fedbary.notes import Fact, Note
from fedbary.strict_json import read_json
from fedbary.wording import on_one_line

_MOST_COLUMNS, _LONGEST, _LONGEST_OPTION = 100_000, 64 * 2**20, 200


@dataclass(frozen=True)
class Reading(Mapping[str, Column]):
    """Column of the file → how it is read.

    Examples
    --------
    >>> from fedbary.columns import Date, Identifier
    >>> reading = Reading({"admitted": Date(), "id": Identifier()})
    >>> reading.columns()
    ('admitted', 'admitted (month)', 'admitted (weekday)')
    >>> Reading.from_json(reading.to_json()) == reading
    True
    """

    of: Mapping[str, Column] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Column:
        return self.of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and dict(self.of) == dict(other.of)

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it makes, in order."""
        return tuple(made for name, column in self.of.items() for made in column.made(name))

    def stated(self) -> Reading:
        """What its owner tells others: the columns that are used."""
        return Reading({name: column for name, column in self.of.items() if not column.left_out})

    def to_json(self) -> str:
        """Serialise for a schema, a card or a description."""
        return json.dumps({name: column.to_json() for name, column in self.of.items()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """What `to_json` wrote; raises ValueError, and nothing else, for anything else."""
        content = read_json(text, longest=_LONGEST)
        if not isinstance(content, dict) or len(content) > _MOST_COLUMNS:
            raise ValueError("not a reading")
        return cls({clean_name(name): _column(found) for name, found in content.items()})


def _column(found: object) -> Column:
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(kind, str) or kind not in BY_NAME:
        raise ValueError("not the reading of a column")
    return BY_NAME[kind].from_json(found)


@dataclass(frozen=True)
class Difference:
    """A column that two parties read in different ways."""

    column: str
    own: Column
    agreed: Column

    def facts(self) -> dict[str, Fact]:
        """The facts of the sentence: the column, both sides in words, and the option to ask for.

        Any cell can be a category, and not any a number: so the option is that of the side that more cells fit.
        """
        name, value = self._option()
        own, agreed = self.own.in_words, self.agreed.in_words
        if _encoder(self.own) == _encoder(self.agreed):
            own, agreed = own + _version(self.own), agreed + _version(self.agreed)
        shown = None if value is None else on_one_line(value, _LONGEST_OPTION)
        return {"column": on_one_line(self.column), "own": own, "agreed": agreed, "name": name, "value": shown}

    def _option(self) -> tuple[str, str] | tuple[None, None]:
        own, agreed = self.own, self.agreed
        if isinstance(agreed, Ordered) and not isinstance(own, Category):
            return agreed.option, agreed.option_value(self.column)
        if _encoder(agreed) not in ("", _encoder(own)):
            return "encoder", _encoder(agreed)
        for side in sorted((own, agreed), key=_ease):
            if side.option and not isinstance(side, Ordered):
                return side.option, side.option_value(self.column)
        return None, None


def _encoder(column: Column) -> str:
    return column.encoder if isinstance(column, Encoded) else ""


def _version(column: Column) -> str:
    said = isinstance(column, Encoded) and column.encoder and column.digest
    return f" of digest {on_one_line(said, 12)}" if said else ""


def differences(own: Reading, agreed: Reading) -> list[Difference]:
    """The columns that two parties read in different ways; what only one of them says is none."""
    return [
        Difference(name, own[name], column)
        for name, column in agreed.items()
        if name in own and own[name].meaning != column.meaning
    ]


def agreed_reading(readings: Iterable[Reading]) -> Reading:
    """Each column as most parties that say something of it read it."""
    votes: dict[str, Counter[Column]] = {}
    for reading in readings:
        for name, column in reading.items():
            votes.setdefault(name, Counter())[column] += 1
    return Reading({name: _most_say(found) for name, found in votes.items()})


def _most_say(votes: Counter[Column]) -> Column:
    together: Counter[Column] = Counter()
    for column, count in votes.items():
        together[column.meaning] += count
    # An order that no arrival decides.
    order = sorted(votes, key=lambda column: (-votes[column], _ease(column), repr(column.shared())))
    return min(order, key=lambda column: (-together[column.meaning], _ease(column.meaning))).shared()


def _ease(column: Column) -> int:
    """Where as many parties say one kind as another, that which more cells can be read as wins."""
    return KINDS.index(type(column))


OnMisfit: TypeAlias = Literal["refuse", "missing"]


def read_columns(
    cells: Mapping[str, ColumnCells], reading: Reading, *, encoder: Encoder = None, on_misfit: OnMisfit = "refuse"
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
    on_misfit
        With ``refuse`` a column in which more than a few cells cannot be read is left out; with ``missing`` each of
        them is missing, however many, and no cell has a say in how another is read: so it is with ε.

    Returns
    -------
    tuple
        The columns; the reading, with what encoders say of themselves; and notes on these and on cells and columns that
        could not be read.
    """
    from fedbary.data.encoders import MOST_NUMBERS, encoded, width_of

    # By the reading alone: another party's may ask for more numbers than a machine has room for.
    width = sum(width_of(column) or 0 for column in reading.values())
    rows = max((len(column) for column in cells.values()), default=0)
    if rows * width > MOST_NUMBERS:
        raise DataError("encoders.too-many-numbers", cells=rows, kind="row", width=width, most=MOST_NUMBERS)
    columns: dict[str, Array] = {}
    stated = dict(reading.of)
    notes: list[Note] = []
    unread: list[DataError] = []
    alone = on_misfit == "missing"
    for name, column in reading.items():
        if column.left_out:
            continue
        if isinstance(column, Encoded):
            objects, kind = column.read(cells[name])[0].tolist(), column.cell_kind
            made = encoded(objects, encoder, kind=kind, name=name, agreed=column, alone=alone)
            columns[name], stated[name] = made.block, replace(column, encoder=made.encoder, digest=made.digest)
            notes.extend(made.notes)
            continue
        try:
            values, said = (column.read(cells[name])[0], ()) if alone else column.read_all(name, cells[name])
            columns |= column.arrays(name, values)
            notes.extend(said)
        except DataError as error:
            unread.append(error)
            stated[name] = Dropped()
    if unread and not columns:
        raise unread[0]
    return columns, Reading(stated), (*notes, *map(left_out, unread))


def left_out(error: DataError) -> Note:
    """That a column is left out, for the reason for which it would be refused."""
    return Note(UNREAD, {"column": str(error.note.facts["column"]), "why": error.note})


_MARKED = "data.marks-of-missing-cells"


def told_reading(features: Sequence[str], options: ReadOptions, others: Sequence[str] = ()) -> Reading:
    """What the options alone say about feature columns; names that not even the label or the id has are refused."""
    names = (*features, *others)
    told = {_known(option, name, names): column for option, name, column in _told(options, names)}
    kept = {_known("columns", name, names) for name in options.columns}
    dropped = {_known("drop", name, names) for name in options.drop}
    told |= {name: Dropped() for name in names if name in dropped or (kept and name not in kept)}
    return Reading({name: column for name, column in told.items() if name in features})


def named_columns(options: ReadOptions) -> list[str]:
    """The columns that options name, whatever a file holds."""
    return [*(name for _, name, _ in _told(options, ())), *options.columns, *options.drop]


def _told(options: ReadOptions, names: Sequence[str]) -> Iterator[tuple[str, str, Column]]:
    """Option, column, and what is said of it."""
    kinds = {kind.option: kind for kind in reversed(KINDS) if kind.option}  # of two with one option the easier one
    for option, kind in kinds.items():
        for said in getattr(options, option) if option != "kinds" else ():
            yield option, *kind.told(said, names)
    for said in options.kinds:
        name, _, word = said.rpartition("=")
        if word not in BY_NAME or BY_NAME[word].option != "kinds":
            raise wrong_parameter("kinds", "ReadOptions", "columns with their kinds, such as stay=duration", said)
        yield "kinds", name.strip(), BY_NAME[word]()


def _known(option: str, wanted: str, names: Sequence[str]) -> str:
    if wanted not in names:
        guessed, known = did_you_mean(wanted, names), tuple(names)
        raise DataError(
            "data.option-without-column", name=option, wanted=wanted, guess=guessed, columns=len(names), names=known
        )
    return wanted


def decide(
    cells: Mapping[str, ColumnCells], options: ReadOptions, told: Reading, agreed: Reading | None
) -> tuple[Reading, tuple[Note, ...]]:
    """How each column is read whose cells are given or that was ``told`` to be left out, and notes on guesses.

    What was told counts before what was ``agreed``, and the rest is guessed. A column that cannot be read is left out,
    with the reason; where it was agreed which columns are used, and it is none of them, without. Only where no column
    is left the first such reason is raised.
    """
    known = {**(agreed or {}), **told}
    used = any(not isinstance(column, Dropped) for column in (agreed or {}).values())
    guesses = _Guesses(options, used)
    for name in cells:
        guesses.add(name, cells, known.get(name))
    guesses.doubt_points(cells)
    guesses.settle_texts()
    beside = {name: column for name, column in told.items() if name not in cells}
    return Reading({**guesses.found, **beside}), guesses.notes()


class _Guesses:
    """Guesses for the columns of one file, and the notes on them."""

    def __init__(self, options: ReadOptions, agreed: bool) -> None:
        self.options, self.agreed = options, agreed
        self.found: dict[str, Column] = {}
        self._noted: dict[str, list[str]] = defaultdict(list)
        self._marks: dict[str, None] = {}
        self._texts: dict[str, TextCells] = {}
        self._all_different: dict[str, TextCells] = {}
        self._unread: list[DataError] = []

    def add(self, name: str, cells: Mapping[str, ColumnCells], known: Column | None) -> None:
        """The kind of one column."""
        try:
            clues = Clues(name, cells[name], self.options.decimal, name in self.options.columns)
            column = guess(clues) if known is None else known.as_it_is_written(clues)
        except DataError as error:
            if self.agreed and known is None:
                self._drop_unused(name)
            else:
                self._drop(name, error)
            return
        self.found[name] = column
        texts = clues.texts if known is None else None
        if texts is not None and column.left_out:
            self._note_marks(name, texts, MARKS)
        for code in clues.notes:
            self._noted[code].append(name)
        if texts is not None and not column.left_out:
            self._note_marks(name, texts, column.marks or MARKS)
        if texts is not None and isinstance(column, Text | Identifier):
            (self._texts if isinstance(column, Text) else self._all_different)[name] = texts

    def doubt_points(self, cells: Mapping[str, ColumnCells]) -> None:
        """Where other columns have decimal commas, 1.234 could be more than a thousand."""
        numbers = {name: column for name, column in self.found.items() if isinstance(column, Number)}
        if self.options.decimal is None and any(column.decimal == "," for column in numbers.values()):
            self._noted["data.points-beside-commas"] += [name for name in numbers if _may_be_thousands(cells[name])]

    def settle_texts(self) -> None:
        """Free text is encoded where that was asked for, or where there is nothing else; else it is left out."""
        from fedbary.data.encoders import suits

        asked = self.options.encoder is not None and bool(suits(self.options.encoder, "text"))
        alone = all(column.left_out for name, column in self.found.items() if name not in self._texts)
        if alone and not self._texts:
            self._noted.pop(ALL_DIFFERENT, None)
            self._texts = self._all_different
            self.found |= dict.fromkeys(self._texts, Text())
        if alone and not self._texts:
            self.found |= dict.fromkeys(self._noted.pop(ROW_NUMBERS, ()), Number())
        for name, cells in self._texts.items():
            if asked:
                continue
            if alone and len(self._texts) == 1:
                self._noted["data.encoded-by-hashing"].append(name)
            elif self.agreed and not alone:
                self._drop_unused(name)
            else:
                different, example = len(cells.levels), on_one_line(cells.levels[0], 80)
                self._drop(
                    name,
                    DataError("data.free-text", column=name, different=different, rows=len(cells), example=example),
                )
        if self._unread and all(column.left_out for column in self.found.values()):
            raise self._unread[0]

    def notes(self) -> tuple[Note, ...]:
        """What was guessed, one note for each thing."""
        found = []
        for code, names in self._noted.items():
            if names:
                marks = {"marks": tuple(self._marks)} if code == _MARKED else {}
                found.append(Note(code, {"columns": tuple(names), **marks}))
        return (*found, *map(left_out, self._unread))

    def _drop(self, name: str, error: DataError) -> None:
        self._unread.append(error)
        self.found[name] = Dropped()

    def _drop_unused(self, name: str) -> None:
        self._noted["data.left-out-unused"].append(name)
        self.found[name] = Dropped()

    def _note_marks(self, name: str, cells: TextCells, marks: frozenset[str]) -> None:
        if places := np.flatnonzero(cells.among(marks)).tolist():
            self._noted[_MARKED].append(name)
            self._marks.update(dict.fromkeys(cells.levels[place] for place in places))


def _may_be_thousands(cells: ColumnCells) -> bool:
    """Whether numbers with a point have three digits behind it, as far as these are not zeros."""
    if isinstance(cells, TextCells) or cells.dtype.kind != "f":
        return False
    present = cells[np.isfinite(cells)]
    return bool((present % 1).any() and (np.abs(present * 1000 - np.round(present * 1000)) < 1e-6).all())
