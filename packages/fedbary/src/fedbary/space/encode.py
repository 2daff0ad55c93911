"""From a table's columns to one scaled matrix, as the schema says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.data.agreed import Difference, differences
from fedbary.data.categories import category_name, category_names
from fedbary.data.columns import Kind, kind_of
from fedbary.data.read_columns import UNREAD
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError
from fedbary.notes import Fact, Note
from fedbary.space.schema import ColumnSpec, Schema

Floats = NDArray[np.float64]

_SCHEMA_KINDS: dict[Kind, str] = {"number": "numeric", "bool": "boolean", "text": "categorical", "block": "block"}
# Numbers that categories and label coordinates may add to a table's own: four gigabytes.
_MOST_ADDED = 2**29
# Rows of which columns are put side by side at a time: they stay in the processor's cache.
_TOGETHER = 2048


def encode(table: Table, schema: Schema) -> Floats:
    """One row per table row, one scaled coordinate per number and category; refuses what does not fit.

    What is missing is imputed here; that it is missing is told by `fedbary.space.missing`.
    """
    require_columns(table, schema)
    require_categories(table, schema)
    return encode_columns(table, schema)


def encode_columns(table: Table, schema: Schema) -> Floats:
    """What `encode` gives, of a table that is known to fit."""
    columns = [encode_column(table, column, schema.missing) for column in schema.columns]
    encoded = np.empty((len(table), sum(column.shape[1] for column in columns)))
    for start in range(0, len(table), _TOGETHER):
        np.concatenate(
            [column[start : start + _TOGETHER] for column in columns], axis=1, out=encoded[start : start + _TOGETHER]
        )
    return encoded


def require_columns(table: Table, schema: Schema) -> None:
    """Refuse a table that lacks columns of the schema, has them in another width, or was read in another way."""
    require_readable(table, [column.name for column in schema.columns])
    require_reading(table.reading, schema, where=table.origin)
    require_widths(column_widths(table), len(table), schema, where=table.origin)


def require_readable(table: Table, columns: Iterable[str]) -> None:
    """Refuse a table of which some of these columns could not be read, for the reason why they were left out."""
    wanted = set(columns)
    for note in table.notes:
        if note.code == UNREAD and note.facts["column"] in wanted:
            assert isinstance(note.facts["why"], Note)
            why = note.facts["why"]
            raise DataError(why.code, **{"where": table.origin, **why.facts})


def require_categories(table: Table, schema: Schema) -> None:
    """Refuse a column of numbers none of which is one of the schema's categories."""
    for column in schema.columns:
        if column.kind == "categorical" and table.columns[column.name].dtype.kind == "f":
            texts = category_texts(table.columns[column.name])
            if not set(texts) & set(column.categories):
                known = tuple(column.categories)[:3]
                raise SchemaError("schema.other-categories", where=table.origin, column=column.name, known=known)


def column_widths(table: Table) -> dict[str, int | None]:
    """How many numbers a row has in each column; None where a column is no block.

    Examples
    --------
    >>> column_widths(Table({"age": [51, 38], "scan": np.zeros((2, 3))}, ["ill", "well"]))
    {'age': None, 'scan': 3}
    """
    return {name: int(values.shape[1]) if values.ndim == 2 else None for name, values in table.head().columns.items()}


def require_reading(reading: Reading, schema: Schema, *, where: str = "") -> None:
    """Refuse a table whose columns were read as something else than the schema's."""
    if found := differences(reading, schema.reading):
        raise SchemaError("schema.read-otherwise", where=where, **read_otherwise(found, whom="the schema"))


def read_otherwise(found: Sequence[Difference], *, whom: str, others: int | None = None) -> dict[str, Fact]:
    """The facts of the first of some differences, and how many more there are.

    Examples
    --------
    >>> from fedbary.data.reading import ColumnReading
    >>> found = [Difference("zip", ColumnReading("category"), ColumnReading("number"))]
    >>> from fedbary.notes import Note
    >>> from fedbary.filling import COMMAND
    >>> print(Note("schema.read-otherwise", read_otherwise(found, whom="the schema")).text(COMMAND))
    column 'zip' is read as categories, by the schema as numbers: ask for --categories zip.
    """
    more = len(found) - 1 or None
    return {**found[0].facts(), "others": others, "whom": whom, "more": more}


def require_widths(widths: Mapping[str, int | None], rows: int, schema: Schema, *, where: str = "") -> None:
    """What `require_columns` refuses, by the names and widths of columns and the row count alone."""
    wanted = [column.name for column in schema.columns]
    missing = [name for name in wanted if name not in widths]
    if missing and list(widths) == ["x"]:
        raise SchemaError("schema.columns-without-names", where=where, names=tuple(wanted))
    if missing:
        extra = tuple(name for name in widths if name not in wanted)
        raise SchemaError(
            "schema.columns-missing", where=where, missing=tuple(missing), count=len(missing), extra=extra or None
        )
    for column in schema.columns:
        width = widths[column.name]
        if column.kind == "categorical" and width is not None:
            raise SchemaError("schema.block-for-categories", where=where, column=column.name, width=width)
        if column.kind != "categorical" and (width or 1) != column.width:
            raise SchemaError("schema.width", where=where, column=column.name, width=width or 1, expected=column.width)
    added = sum(column.coordinates for column in schema.columns if column.kind == "categorical")
    if rows * (added + schema.point_width - schema.value_width) > _MOST_ADDED:
        raise SchemaError("schema.too-wide-for-rows", where=where, most=_MOST_ADDED)


def column_kind(values: NDArray[np.generic]) -> str:
    """The kind of a column in a schema's words: ``block``, ``boolean``, ``numeric`` or ``categorical``."""
    return _SCHEMA_KINDS[kind_of(values)]


def encode_column(table: Table, column: ColumnSpec, missing: str) -> Floats:
    """The coordinates of one column."""
    values = table.columns[column.name]
    if column.kind == "categorical":
        return _encode_categories(table, values, column, missing)
    if values.dtype.kind == "O":
        row = next((i for i, value in enumerate(values) if value is not None), None)
        if row is not None:
            raise SchemaError(
                "schema.column-holds-text",
                where=table.origin,
                column=column.name,
                kind=column.kind,
                example=repr(values[row]),
                row=str(table.row_names[row]),
            )
        values = np.full(len(table), np.nan)
    numbers = np.asarray(values, dtype=np.float64).reshape(len(table), column.width)
    holes = np.isnan(numbers)
    if holes.any():
        _refuse_missing(table, column.name, int(holes.any(axis=1).sum()), missing)
        numbers = np.where(holes, np.array(column.middle), numbers)
    numbers = bounded(numbers, column)
    return np.asarray((numbers - np.array(column.mean)) / np.array(column.scale))


def bounded(numbers: Floats, column: ColumnSpec) -> Floats:
    """Numbers of rows; in a bounded column those beyond the limits say nothing, and stand in the middle."""
    if not column.bounded:
        return numbers
    beyond = (numbers < np.array(column.low)) | (numbers > np.array(column.high))
    return np.where(beyond, np.array(column.middle), numbers)


def _encode_categories(table: Table, values: NDArray[np.generic], column: ColumnSpec, missing: str) -> Floats:
    texts = category_texts(values)
    absent = sum(text is None for text in texts)
    if absent:
        _refuse_missing(table, column.name, absent, missing)
    position = {category_name(name): index for index, name in enumerate(column.categories)}
    coordinates = np.zeros((len(texts), column.coordinates))
    other = len(column.categories)
    codes = [other if text is None else position.get(text, other) for text in texts]
    coordinates[np.arange(len(texts)), codes] = 1.0
    if absent:
        coordinates[[text is None for text in texts]] = between_categories(column)
    return coordinates


def between_categories(column: ColumnSpec) -> Floats:
    """Where a missing category lies: as far from each of the column's categories as from any other."""
    known = len(column.categories)
    return np.array([1.0 / known] * known + [0.0]) if known else np.ones(1)


def category_texts(values: NDArray[np.generic]) -> list[str | None]:
    """What categories are called, see `fedbary.data.categories.category_name`; None where there is none."""
    found: list[str | None] = category_names(values).tolist()
    return found


def _refuse_missing(table: Table, column: str, count: int, missing: str) -> None:
    if missing == "refuse":
        raise SchemaError("schema.missing-values", where=table.origin, column=column, count=int(count), rows=len(table))
