"""What parties say about their tables so that a schema can be agreed, and which columns all of them can use.

A description is counts and sums, never rows. A column that some cannot use is left out for everybody, and named once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fedbary.columns.arrays import missing_rows
from fedbary.data.reading import Reading, agreed_reading, differences
from fedbary.data.table import Table, changed
from fedbary.errors import DataError, SchemaError
from fedbary.forms import LARGEST, LONGEST_TEXT, MOST_ROWS, Field, Fields, Flag, Listed, Number, Text, Word
from fedbary.notes import Fact, Note
from fedbary.space.columns import SPECS, Cells, ColumnDescription, levels, named_levels
from fedbary.space.encode import column_kind, read_otherwise
from fedbary.space.labels import LONGEST_CLASS, class_names, label_kind
from fedbary.space.options import Space
from fedbary.space.row_identity import RARE, different_rows, refuse_few, without_rare_values
from fedbary.space.schema import is_made_of, is_reading_of
from fedbary.strict_json import read_json
from fedbary.wording import on_one_line

# A text column with more different values than this, most of them seen once or twice, is an identifier.
_MANY_CATEGORIES = 100
# Coordinates and categories that another party may describe: far beyond all tables, and yet schemas fit in memory.
_MOST_COORDINATES = 10**5
LONGEST_CATEGORY = 10_000
_NAME, _MEAN, _VARIANCE = Text(LONGEST_CATEGORY), Number(-LARGEST, LARGEST), Number(0.0, LARGEST**2)
_LISTS = ("mean", "variance", "categories")
_COLUMN: dict[str, Field] = {
    "name": _NAME,
    "kind": Word(tuple(SPECS)),
    "width": Number(1, 2**20, whole=True),
    "mean": Listed(_MEAN),
    "variance": Listed(_VARIANCE),
    "categories": Listed(_NAME),
    "lacks": Flag(),
    "unusable": Flag(),
}
_FORM = Fields(
    {
        "rows": Number(1, MOST_ROWS, whole=True),
        "columns": Listed(Fields(_COLUMN)),
        "label_name": _NAME,
        "label_kind": Word(("classes", "number")),
        "classes": Listed(Text(LONGEST_CLASS)),
        "label_mean": _MEAN,
        "label_variance": _VARIANCE,
        "reading": Text(LONGEST_TEXT),
    }
)
LEFT_OUT, OF_FEW = "schema.column-left-out", "schema.column-of-few"
_REFERENCE = "the reference"
_WORDS = {"numeric": "numbers", "categorical": "categories", "classes": "classes", "number": "a number"}
_TROUBLES = ("lacking", "otherwise", "unusable")
# Columns as somebody has them: kinds and widths by name.
Layout = frozenset[tuple[str, str, int]]


@dataclass(frozen=True)
class Description:
    """Row count, columns, how they were read, label kind, and the classes that have enough rows to be named."""

    rows: int
    columns: tuple[ColumnDescription, ...]
    label_name: str
    label_kind: str
    classes: tuple[str, ...] = ()
    label_mean: float = 0.0
    label_variance: float = 1.0
    reading: Reading = field(default_factory=Reading)

    def to_json(self) -> str:
        content = {**vars(self), "columns": [vars(column) for column in self.columns]}
        return json.dumps({**content, "reading": self.reading.to_json()}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Description:
        """Read and check what another party's `to_json` wrote."""
        try:
            content = read_json(text, longest=LONGEST_TEXT)
            if (error := _FORM.misfit("description", content)) is not None:
                raise ValueError(str(error))
            columns = tuple(
                ColumnDescription(**{**column, **{name: tuple(column[name]) for name in _LISTS}})
                for column in content["columns"]
            )
            classes, reading = tuple(content["classes"]), Reading.from_json(content["reading"])
            description = cls(**{**content, "columns": columns, "classes": classes, "reading": reading})
            description._check()
        except ValueError as error:
            raise SchemaError("schema.description-unreadable", why=str(error)) from error
        return description

    def _check(self) -> None:
        if len({column.name for column in self.columns}) < len(self.columns):
            raise ValueError("a column comes twice")
        for column in self.columns:
            coordinates = 0 if column.kind == "categorical" else column.width
            if not len(column.mean) == len(column.variance) == coordinates or (not coordinates and column.width != 1):
                raise SchemaError("schema.description-length", column=on_one_line(column.name))
        if not is_reading_of(self.reading, {column.name: (column.kind, column.width) for column in self.columns}):
            raise ValueError("the columns are not those that it reads")
        if sum(len(column.mean) + len(column.categories) for column in self.columns) > _MOST_COORDINATES:
            raise SchemaError("schema.description-too-wide", most=_MOST_COORDINATES)


def describe(table: Table, settings: Space, *, min_group: int = 1) -> Description:
    """Describe a table by sums over its rows; categories and classes under ``min_group`` rows stay unnamed.

    What leaves its owner is described of released rows (`fedbary.protocols.released_table`).
    """
    refuse_few(table, min_group)
    kind = check_table(table, settings)
    different = different_rows(table) if min_group > 1 else table
    columns = tuple(_describe_column(table, different, name, min_group) for name in table.columns)
    described = Description(len(table), columns, table.label_name, kind, reading=stated_reading(table))
    if kind == "number":
        values = np.asarray(table.labels, dtype=float)
        return replace(described, label_mean=float(values.mean()), label_variance=float(values.var()))
    counts = Counter(class_names(different.labels).tolist())
    classes = tuple(sorted(name for name, count in counts.items() if count >= min_group))
    if any(len(name) > LONGEST_CLASS for name in classes):
        raise DataError(
            "schema.label-looks-like-text", where=table.origin, label=table.label_name, longest=LONGEST_CLASS
        )
    return replace(described, classes=classes)


def _describe_column(table: Table, different: Table, name: str, min_group: int) -> ColumnDescription:
    values, own = table.columns[name], different.columns[name]
    kind = column_kind(values)
    lacks = int(missing_rows(own).sum()) >= max(min_group, 1)
    if kind == "categorical":
        often = levels(own)
        del often[RARE]
        if not often or _name_rows(own):
            return ColumnDescription(name, kind, 1, lacks=lacks, unusable=True)
        return ColumnDescription(name, kind, 1, categories=named_levels(often, min_group), lacks=lacks)
    numbers = without_rare_values(np.asarray(values, dtype=np.float64).reshape(len(table), -1), min_group)
    holes = np.isnan(numbers)
    present = (~holes).sum(axis=0)
    if (present < max(min_group, 1)).any():
        nothing = (0.0,) * numbers.shape[1]
        return ColumnDescription(name, kind, numbers.shape[1], nothing, nothing, lacks=lacks, unusable=True)
    mean = np.where(holes, 0.0, numbers).sum(axis=0) / present
    variance = np.where(holes, 0.0, (numbers - mean) ** 2).sum(axis=0) / present
    return ColumnDescription(name, kind, numbers.shape[1], tuple(mean.tolist()), tuple(variance.tolist()), lacks=lacks)


def stated_reading(table: Table) -> Reading:
    """What the owner of a table tells others of how it was read: of the columns that are still as they were read."""
    head = table.head()
    own = {name: (column_kind(values), values.size // len(head)) for name, values in head.columns.items()}
    stated = table.reading.stated()
    return Reading({name: column for name, column in stated.items() if is_made_of(name, column, own)})


def check_table(table: Table, settings: Space) -> str:
    """Refuse missing values, where they are not allowed, and labels of no kind; returns the label's kind."""
    kind = label_kind(table.labels, settings.task, name=table.label_name)
    if settings.missing == "refuse":
        for name, count in table.missing().items():
            if count:
                raise DataError("data.missing-values", where=table.origin, column=name, count=count, rows=len(table))
    return kind


def without_names(table: Table) -> Table:
    """The table without columns whose texts name rows; as it is, where it has no other."""
    named = names_of_rows(table)
    if not named:
        return table

    def rest(part: Table) -> Table:
        return part.replace(columns={name: values for name, values in part.columns.items() if name not in named})

    return changed(table, rest)


def names_of_rows(table: Table) -> frozenset[str]:
    """The columns whose texts name rows; none where these are all."""
    texts = [name for name, values in table.head().columns.items() if values.dtype.kind == "O"]
    named = frozenset(name for name in texts if _name_rows(table.columns[name]))
    return named if len(named) < len(table.columns) else frozenset()


def _name_rows(values: Cells) -> bool:
    """Whether texts are too many different ones to be categories."""
    return len(levels(values)) > max(_MANY_CATEGORIES, len(values) // 2)


@dataclass(frozen=True)
class Common:
    """What the parties agree on: all who take part, described by the columns that are used, and how these are read.

    ``notes`` say why columns are left out; ``refused`` are clients without a place beside the others, of another kind
    of label or without half of the columns.
    """

    descriptions: Mapping[str, Description]
    reference: Description | None
    reading: Reading
    notes: tuple[Note, ...]
    refused: Mapping[str, Note]


def common_columns(descriptions: Mapping[str, Description], reference: Description | None = None) -> Common:
    """The columns that every party has, in the same kind, with values; the reference's, or those of most clients.

    Clients with the most of these come first. Who would bring the number of columns that are left out above half of all
    has another table, and is refused instead.
    """
    standard = [] if reference is None else [reference] * (len(descriptions) + 1)  # a majority of its own
    kind = Counter(one.label_kind for one in [*descriptions.values(), *standard]).most_common(1)[0][0]
    refused = {}
    for name, one in descriptions.items():
        if one.label_kind != kind:
            words = {"own": _WORDS[one.label_kind], "others": _WORDS[kind]}
            refused[name] = Note("schema.labels-unlike-the-others", {"label": on_one_line(one.label_name), **words})
    parties = {name: _Party(one) for name, one in descriptions.items() if name not in refused}
    agreed = agreed_reading(one.reading for one in [*(party.described for party in parties.values()), *standard])
    judges = [_Party(reference)] if reference is not None else list(parties.values())
    votes: dict[str, Counter[Layout]] = {}
    for party in judges:
        for name, layout in party.columns.items():
            votes.setdefault(name, Counter())[layout] += 1
    usual = {
        name: min(found, key=lambda layout: (-found[layout], sorted(layout)))  # an order that no arrival decides
        for name, found in votes.items()
        if 2 * found.total() > len(judges)
    }
    trouble = {name: party.trouble(usual, agreed) for name, party in parties.items()}
    left_out = set() if reference is None else set(judges[0].trouble(usual, agreed))
    most = max(len(usual) // 2, len(left_out))
    for name in sorted(trouble, key=lambda name: (len(trouble[name]), sorted(trouble[name]))):
        more = left_out | set(trouble[name])
        if len(more) <= most and len(more) < len(usual):
            left_out = more
        else:
            refused[name] = parties[name].refusal(usual, agreed, len(parties) - 1 if reference is None else None)
    taking_part = {name: party for name, party in parties.items() if name not in refused}
    if not set(usual) - left_out:
        raise SchemaError("schema.no-usable-column", names=tuple(map(on_one_line, sorted(usual))))
    kept = frozenset(name for home in set(usual) - left_out for name, _, _ in usual[home])
    whose = {**taking_part, **({} if reference is None else {_REFERENCE: judges[0]})}
    described = {name: party.only(kept) for name, party in whose.items()}
    unused = sorted({name for party in whose.values() for name in party.columns} - (set(usual) - left_out))
    return Common(
        {name: described[name] for name in taking_part},
        None if reference is None else described[_REFERENCE],
        agreed_reading(one.reading for one in described.values()),  # of nobody who is refused
        tuple(_note(home, whose, usual, agreed) for home in unused),
        refused,
    )


def reading_of(columns: frozenset[str], reading: Reading) -> Reading:
    """As much of a reading as makes these columns."""
    return Reading({name: how for name, how in reading.items() if set(how.made(name)) <= columns})


class _Party:
    """A description by the columns of the file that its own were made of: a date is three of them."""

    def __init__(self, described: Description) -> None:
        self.described = described
        home = {made: name for name, how in described.reading.items() for made in how.made(name)}
        layouts: dict[str, set[tuple[str, str, int]]] = {}
        for one in described.columns:
            kind = "numeric" if one.kind == "boolean" else one.kind  # one maker's 0/1 is another's False/True
            layouts.setdefault(home.get(one.name, one.name), set()).add((one.name, kind, one.width))
        self.columns: dict[str, Layout] = {name: frozenset(layout) for name, layout in layouts.items()}
        self.unusable = {home.get(column.name, column.name) for column in described.columns if column.unusable}

    def trouble(self, usual: Mapping[str, Layout], agreed: Reading) -> dict[str, str]:
        """Which of the usual columns it cannot use, and why."""
        otherwise = {one.column for one in differences(self.described.reading, agreed)}
        found = {}
        for name, layout in usual.items():
            if name not in self.columns:
                found[name] = "lacking"
            elif self.columns[name] != layout or name in otherwise:
                found[name] = "otherwise"
            elif name in self.unusable:
                found[name] = "unusable"
        return found

    def refusal(self, usual: Mapping[str, Layout], agreed: Reading, others: int | None) -> Note:
        """Why it has no place beside the others."""
        if found := differences(self.described.reading, agreed):
            return Note("schema.read-otherwise", read_otherwise(found, others=others, whom=_REFERENCE))
        missing, extra = _names(usual.keys() - self.columns.keys()), _names(self.columns.keys() - usual.keys())
        if missing or extra:
            return Note("schema.columns-unlike-the-others", {"missing": missing, "extra": extra})
        return Note("schema.columns-of-another-kind", {"columns": _names(self.trouble(usual, agreed))})

    def only(self, kept: frozenset[str]) -> Description:
        columns = tuple(column for column in self.described.columns if column.name in kept)
        return replace(self.described, columns=columns, reading=reading_of(kept, self.described.reading))


def _note(home: str, whose: Mapping[str, _Party], usual: Mapping[str, Layout], agreed: Reading) -> Note:
    """Who cannot use a column, in which way, and how it would be read in the same way by all."""
    column: dict[str, Fact] = {"column": on_one_line(home)}
    if home not in usual:
        return Note(OF_FEW, {**column, "only": _names(name for name, one in whose.items() if home in one.columns)})
    found = {name: party.trouble(usual, agreed).get(home) for name, party in whose.items()}
    who = {what: _names(name for name in found if found[name] == what) for what in _TROUBLES}
    if who["otherwise"]:
        first = next(party for name, party in whose.items() if found[name] == "otherwise")
        different = [one for one in differences(first.described.reading, agreed) if one.column == home]
        if different:
            column |= {key: fact for key, fact in different[0].facts().items() if key != "column"}
        else:
            for side, layout in (("own", first.columns[home]), ("agreed", usual[home])):
                _, kind, width = min(layout)
                column[side] = _WORDS.get(kind, f"vectors of {width:,} numbers")
    return Note(LEFT_OUT, {**column, **who})


def _names(names: Iterable[str]) -> tuple[str, ...] | None:
    return tuple(map(on_one_line, sorted(names))) or None
