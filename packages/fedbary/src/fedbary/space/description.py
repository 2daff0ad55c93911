"""What a party says about its table so that a schema can be agreed: counts and sums, never rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedbary.data.changed import changed
from fedbary.data.columns import missing_rows
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError
from fedbary.forms import LARGEST, LONGEST_TEXT, MOST_ROWS, Field, Fields, Flag, Listed, Number, Text, Word
from fedbary.space.encode import category_texts, column_kind
from fedbary.space.k_anonymous import RARE, refuse_few
from fedbary.space.labels import class_names, label_kind
from fedbary.space.levels import named_levels
from fedbary.space.options import Space
from fedbary.space.row_identity import different_rows, without_rare_values
from fedbary.space.schema_bounds import KINDS, LONGEST_CLASS, is_made_of, is_reading_of
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
    "kind": Word(KINDS),
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


@dataclass(frozen=True)
class ColumnDescription:
    """One column: for numbers the mean and variance of each coordinate, for text its frequent categories.

    ``lacks`` says that enough rows have no value in it, ``unusable`` that hardly any has, or that its texts name rows.
    """

    name: str
    kind: str
    width: int
    mean: tuple[float, ...] = ()
    variance: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    lacks: bool = False
    unusable: bool = False


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

    @property
    def layout(self) -> tuple[tuple[str, str, int], ...]:
        """Names, kinds and widths: what must be the same for everybody, in whatever order."""
        numeric = {"boolean": "numeric"}  # one maker's 0/1 is another's False/True
        return tuple(sorted((c.name, numeric.get(c.kind, c.kind), c.width) for c in self.columns))

    def to_json(self) -> str:
        """Serialise for a message; numbers keep every bit."""
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
        if not is_reading_of(self.reading, self.columns):
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
    if kind == "number":
        values = np.asarray(table.labels, dtype=float)
        moments = float(values.mean()), float(values.var())
        return Description(len(table), columns, table.label_name, kind, (), *moments, stated_reading(table))
    counts = Counter(class_names(different.labels).tolist())
    classes = tuple(sorted(name for name, count in counts.items() if count >= min_group))
    if any(len(name) > LONGEST_CLASS for name in classes):
        raise DataError(
            "schema.label-looks-like-text", where=table.origin, label=table.label_name, longest=LONGEST_CLASS
        )
    return Description(len(table), columns, table.label_name, kind, classes, reading=stated_reading(table))


def stated_reading(table: Table) -> Reading:
    """What the owner of a table tells others of how it was read: of the columns that are still as they were read."""
    head = table.head()
    found = {name: (column_kind(values), values.size // len(head)) for name, values in head.columns.items()}
    stated = table.reading.stated()
    return Reading({name: column for name, column in stated.items() if is_made_of(name, column, found)})


def check_table(table: Table, settings: Space) -> str:
    """Refuse missing values, where they are not allowed, and labels of no kind; returns the label's kind."""
    kind = label_kind(table.labels, settings.task, name=table.label_name)
    if settings.missing == "refuse":
        for name, count in table.missing().items():
            if count:
                raise DataError("data.missing-values", where=table.origin, column=name, count=count, rows=len(table))
    return kind


def without_names(table: Table) -> Table:
    """The table without columns whose texts name rows; as it is, where it has no other.

    Examples
    --------
    >>> wards = Table({"age": range(300), "who": [f"No. {row}" for row in range(300)]}, ["a", "b"] * 150)
    >>> without_names(wards).column_names
    ('age',)
    """
    named = names_of_rows(table)
    if not named:
        return table

    def rest(part: Table) -> Table:
        return part.replace(columns={name: values for name, values in part.columns.items() if name not in named})

    return changed(table, rest)


def names_of_rows(table: Table) -> frozenset[str]:
    """The columns whose texts name rows; none where these are all."""
    texts = [name for name, values in table.head().columns.items() if values.dtype.kind == "O"]
    named = frozenset(name for name in texts if are_names(table.columns[name]))
    return named if len(named) < len(table.columns) else frozenset()


def are_names(values: NDArray[np.generic]) -> bool:
    """Whether texts are too many different ones to be categories."""
    different = len({text for text in category_texts(values) if text is not None})
    return different > max(_MANY_CATEGORIES, len(values) // 2)


def _describe_column(table: Table, different: Table, name: str, min_group: int) -> ColumnDescription:
    values = table.columns[name]
    kind = column_kind(values)
    lacks = int(missing_rows(different.columns[name]).sum()) >= max(min_group, 1)
    if kind == "categorical":
        often = Counter(text for text in category_texts(different.columns[name]) if text not in (None, RARE))
        if not often or are_names(different.columns[name]):
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
    moments = tuple(mean.tolist()), tuple(variance.tolist())
    return ColumnDescription(name, kind, numbers.shape[1], *moments, lacks=lacks)
