"""What a federation would refuse, with the schema that it agreed on or without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.notes import Note
from fedbary.protocols.sketch import Sketch
from fedbary.space.description import describe
from fedbary.space.encode import encode_column, require_columns
from fedbary.space.labels import check_kind
from fedbary.space.notes import fit_notes, require_known_labels
from fedbary.space.options import Space
from fedbary.space.points import embed, missing_share
from fedbary.space.schema import ColumnSpec, Schema

MIN_GROUP = Sketch().min_group


@dataclass(frozen=True)
class Fit:
    """How a table fits: what would be refused, and what a coordinator would be told otherwise."""

    refusals: tuple[Note, ...]
    told: tuple[Note, ...] = ()


def refused_by_anybody(table: Table) -> Fit:
    """What the default settings refuse whatever the others have: too few rows, a doubtful label, a column of texts.

    Examples
    --------
    >>> import fedbary as fb
    >>> [note.code for note in refused_by_anybody(fb.Table.from_arrays([[1.0], [2.0]], ["a", "b"])).refusals]
    ['schema.too-few-rows']
    """
    refusals: list[Note] = []
    while True:
        try:
            describe(table, Space(), min_group=MIN_GROUP)
        except FedbaryError as error:
            refusals.append(error.note)
            columns = {name: column for name, column in table.columns.items() if name != error.note.facts.get("column")}
            if not columns or len(columns) == len(table.columns):
                return Fit(tuple(refusals))
            table = table.replace(columns=columns)
        else:
            return Fit(tuple(refusals))


def fit_to_schema(table: Table, schema: Schema) -> Fit:
    """What a federation with this schema and default settings would refuse, and what it would be told.

    Examples
    --------
    >>> import fedbary as fb
    >>> schema = fb.fit_schema(fb.Table({"age": [31.0, 40.0] * 5}, ["a", "b"] * 5))
    >>> [str(note) for note in fit_to_schema(fb.Table({"Age": [31.0, 40.0] * 5}, ["a", "b"] * 5), schema).refusals]
    ["the column 'age' of the schema is missing (it has 'Age' that the schema does not know): rename or add it."]
    """
    try:
        cloud = embed(table, schema)
    except FedbaryError:
        return Fit(tuple(_misfits(table, schema)))
    refusals = []
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


def _misfits(table: Table, schema: Schema) -> list[Note]:
    """Everything in which a table does not fit: `embed` stops at the first."""
    present = [column for column in schema.columns if column.name in table.columns]

    def fits_in(column: ColumnSpec) -> None:
        require_columns(table, replace(schema, columns=(column,), projection=None, whitening=None))
        encode_column(table, column, schema.missing)

    looks: list[Callable[[], object]] = [partial(check_kind, table.labels, schema.label, where=table.origin)]
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
