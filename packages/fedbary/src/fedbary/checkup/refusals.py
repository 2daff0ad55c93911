"""What a federation would refuse, with the schema that it agreed on or without one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable, row_hashes
from fedbary.columns import Number
from fedbary.columns.category import category_names
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.notes import Fact, Note
from fedbary.protocols.sketch import Sketch
from fedbary.space.columns import ColumnSpec
from fedbary.space.description import check_table
from fedbary.space.encode import missing_share, require_columns
from fedbary.space.labels import LONGEST_CLASS, class_names
from fedbary.space.notes import fit_notes, require_known_labels
from fedbary.space.options import Space
from fedbary.space.points import Points
from fedbary.space.schema import Schema

MIN_GROUP = Sketch().min_group


@dataclass(frozen=True)
class Fit:
    """How a table fits: what would be refused, and what a coordinator would be told otherwise."""

    refusals: tuple[Note, ...]
    told: tuple[Note, ...] = ()


def refused_by_anybody(coded: CodedTable, *, whole: bool = True) -> Fit:
    """What the default settings refuse whatever the others have: too few rows, or a doubtful label.

    Rows are different only if the table is ``whole``: without a column that could not be read they may not be.

    Examples
    --------
    >>> import fedbary as fb
    >>> table = fb.Table.from_arrays([[1.0], [2.0]], ["a", "b"])
    >>> [note.code for note in refused_by_anybody(CodedTable.of(table)).refusals]
    ['schema.too-few-rows']
    """
    table = coded.table
    if len(table) < MIN_GROUP:
        return Fit((Note("schema.too-few-rows", {"where": table.origin, "rows": len(table), "least": MIN_GROUP}),))
    refusals: list[Note] = []
    try:
        check_table(table, Space())
    except FedbaryError as error:
        refusals.append(error.note)
    if table.has_classes and max(map(len, class_names(coded.labels.values))) > LONGEST_CLASS:
        facts: dict[str, Fact] = {"where": table.origin, "label": table.label_name, "longest": LONGEST_CLASS}
        refusals.append(Note("schema.label-looks-like-text", facts))
    if whole and not refusals and _different_rows_of_a_class(coded) < MIN_GROUP:
        what = "different rows of one class" if table.has_classes else "different rows"
        refusals.append(Note("schema.too-few-in-a-group", {"where": table.origin, "least": MIN_GROUP, "what": what}))
    return Fit(tuple(refusals))


def _different_rows_of_a_class(coded: CodedTable) -> int:
    """How many different rows the class has that has most."""
    first = np.unique(coded.hashes.sum(axis=0), return_index=True)[1]
    if not coded.table.has_classes:
        return len(first)
    return int(np.bincount(coded.labels.codes[first]).max())


def fit_to_schema(coded: CodedTable, schema: Schema, *, unread: Collection[str] = ()) -> Fit:
    """What a federation with this schema and default settings would refuse, and what it would be told.

    Columns that were ``unread`` are refused already, and nothing is told of a table without them.

    Examples
    --------
    >>> import fedbary as fb
    >>> schema = fb.fit_schema(fb.Table({"age": [31.0, 40.0] * 5}, ["a", "b"] * 5))
    >>> table = fb.Table({"Age": [31.0, 40.0] * 5}, ["a", "b"] * 5)
    >>> [str(note) for note in fit_to_schema(CodedTable.of(table), schema).refusals]
    ["the column 'age' of the schema is missing (it has 'Age' that the schema does not know): rename or add it."]
    """
    table = coded.table
    made = {one for name in unread for one in schema.reading.get(name, Number()).made(name)}
    refusals = _misfits(coded, schema, made)
    if refusals or unread:
        return Fit(tuple(refusals))
    cloud = _cloud(coded, schema)
    try:
        require_known_labels(table, schema, cloud, min_group=min(MIN_GROUP, cloud.distinct))
    except FedbaryError as error:
        refusals.append(error.note)
    if cloud.distinct < MIN_GROUP:
        refusals.append(Note("checkup.few-different-rows", {"count": cloud.distinct, "least": MIN_GROUP}))
    told = (
        Note("checkup.tells-rows", {"count": cloud.rows}),
        Note("checkup.tells-missing", {"share": missing_share(table, schema)}),
        *fit_notes(table, schema, cloud, min_group=MIN_GROUP),
    )
    return Fit(tuple(refusals), told)


def _cloud(coded: CodedTable, schema: Schema) -> Points:
    """Which rows are the same point in the schema's space; where it lies is of no interest here."""
    known = [
        _known_levels(coded.columns[spec.name], spec.categories)
        if spec.kind == "categorical"
        else coded.columns[spec.name]
        for spec in schema.columns
        if spec.name in coded.columns
    ]
    rows = row_hashes([*known, coded.labels])
    _, point_of_row, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return Points(np.zeros((len(counts), 0)), counts / len(rows), point_of_row, 0)


def _known_levels(column: Coded, categories: tuple[str, ...]) -> Coded:
    """A column in which all levels that the schema does not know are one."""
    places = {name: place for place, name in enumerate(categories)}
    codes = np.array([places.get(str(text), len(places)) for text in category_names(column.values)] + [-1])
    return Coded(codes[column.codes], np.arange(len(places) + 1))


def _misfits(coded: CodedTable, schema: Schema, unread: Collection[str]) -> list[Note]:
    """Everything in which a table does not fit: an embedding stops at the first."""
    table = coded.table
    rest = tuple(column for column in schema.columns if column.name not in unread)
    reading = Reading({name: how for name, how in schema.reading.items() if name not in unread})
    schema = replace(schema, columns=rest, reading=reading, projection=None, whitening=None)
    present = [column for column in schema.columns if column.name in table.columns]

    def fits_in(column: ColumnSpec) -> None:
        require_columns(table, replace(schema, columns=(column,)))
        if column.kind == "categorical" and schema.missing != "refuse":  # then one row of each level says it all
            rows = np.unique(coded.columns[column.name].codes, return_index=True)[1]
            few = Table({column.name: table.columns[column.name][rows]}, np.zeros(len(rows)), origin=table.origin)
            column.require(few, schema.missing)
        else:
            column.require(table, schema.missing)

    looks: list[Callable[[], object]] = [partial(schema.label.require, table.labels, where=table.origin)]
    if len(present) < len(schema.columns):
        looks.append(partial(require_columns, table, schema))
    looks += [partial(fits_in, column) for column in present]
    refusals = []
    for look in looks:
        try:
            look()
        except FedbaryError as error:
            refusals.append(error.note)
    return refusals
