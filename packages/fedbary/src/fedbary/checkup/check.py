"""`check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable, row_hashes
from fedbary.checkup.copies import COPIES
from fedbary.checkup.findings import CLASSES, COLUMNS, LEVELS, MIN_GROUP, NAMES, ROWS, Finding, Look, Severity
from fedbary.checkup.fix import Subject
from fedbary.checkup.numbers import NUMBERS
from fedbary.checkup.result import Checkup, described_columns, described_label
from fedbary.columns import Number
from fedbary.columns.category import category_names
from fedbary.columns.column import UNREAD, UNREAD_CELLS
from fedbary.data.formats import opened
from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.objects import as_table
from fedbary.data.options import ReadOptions
from fedbary.data.persons import REPEATS, persons_if_there
from fedbary.data.places import AnyPath, file_name
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError
from fedbary.notes import Fact, Note
from fedbary.protocols.sketch import Sketch
from fedbary.space.description import check_table
from fedbary.space.encode import require_columns
from fedbary.space.fit import fit_schema
from fedbary.space.labels import LONGEST_CLASS, class_names
from fedbary.space.notes import count_cells, fit_notes, require_known_labels
from fedbary.space.options import Space
from fedbary.space.points import Points
from fedbary.space.schema import Schema

# What is looked for, in the order in which it is told.
LOOKS: tuple[Look[Any], ...] = (NUMBERS, LEVELS, CLASSES, NAMES, COLUMNS, ROWS, COPIES)
# What is to be looked at in a table that is taken all the same.
_DOUBTFUL = (UNREAD, UNREAD_CELLS, WITHOUT_LABEL, REPEATS)
_WRONG_IDS = ("data.ids-missing", "data.ids-repeat")


def check(
    data: Any,
    label: str | None = None,
    *,
    id: str | None = None,  # noqa: A002 - public interface
    schema: Schema | AnyPath | None = None,
    reference: Any = None,
    options: ReadOptions | None = None,
) -> Checkup:
    """Look at a table as a doctor would: what it holds, what is wrong with it, what a federation would refuse.

    Nothing is sent and nothing is written. The more is given, the more is found: a schema or reference rows know
    which ranges, categories and classes the others use.

    Parameters
    ----------
    data : path, DataFrame, Table or pair (X, y)
        The table; whatever `fedbary.value` takes for a client.
    label : str, optional
        The label column. Default: the schema's, or ``label``.
    id : str, optional
        A column of unique row ids.
    schema : Schema or path, optional
        The federation's schema, from its coordinator.
    reference : path, DataFrame, Table or pair (X, y), optional
        Rows like those of the coordinator, where there is no schema yet.
    options : ReadOptions, optional
        What is asked of reading; the rest is guessed, and said.

    Examples
    --------
    >>> import pandas as pd
    >>> import fedbary as fb
    >>> ages = [20.5 + 0.7 * row for row in range(40)]
    >>> frame = pd.DataFrame({"age": ages, "ward": 7.0, "label": ["ill", "well"] * 20})
    >>> fb.check(frame)
    40 rows, 2 feature columns. A federation would take this table.
    - note: column 'ward' is 7 in every row: fine, if other clients have something else
    """
    import pandas as pd

    agreed = Schema.load(Path(schema)) if isinstance(schema, str | PathLike) else schema
    name = label or (agreed.label.name if agreed else "label")
    reading = None if agreed is None else agreed.reading
    if reference is not None:
        # A query is that of one database, and whose row it is says nothing about a row of the reference.
        asked = None if options is None else replace(options, query=None, client_column=None)
        other, _ = persons_if_there(lambda own: _table(reference, name, id=id, options=own, reading=None), asked)
        other = other.replace(origin=other.origin or "the reference")
        agreed, reading = fit_schema(other, Sketch().space(None)), other.reading
    table, refusals = _table(data, name, id=id, options=options, reading=reading)
    found = examined(table, refusals, agreed, said=_said(options, reading))
    if not isinstance(data, str | PathLike | pd.DataFrame):
        return found
    return replace(found, subject=Subject(data, name, options or ReadOptions(), table.reading, agreed))


def examined(table: Table, refusals: tuple[Note, ...], schema: Schema | None, *, said: frozenset[str]) -> Checkup:
    """Everything that is found in a table of which ``refusals`` were not read."""
    coded = CodedTable.of(table)
    wanted = set() if schema is None else {column.name for column in schema.columns}
    unread = {str(note.facts["column"]): note for note in table.notes if note.code == UNREAD}
    needed = [note.facts["why"] for name, note in unread.items() if name in wanted]
    refusals = (*refusals, *(note for note in needed if isinstance(note, Note)))
    told: tuple[Note, ...] = ()
    if schema is None:
        misfits = _refused_by_anybody(coded, whole=not unread)
    else:
        misfits, told = _fit(coded, schema, wanted & unread.keys())
    findings = [Finding(note, Severity.REFUSED) for note in (*refusals, *misfits)]
    left_out = [note for note in table.notes if note.code in _DOUBTFUL and note.facts.get("why") not in refusals]
    findings += [Finding(note, Severity.DOUBTFUL) for note in left_out]
    for look in LOOKS:
        findings += look.findings(coded, schema)
    return Checkup(
        origin=table.origin,
        rows=len(table),
        copies=len(table) - len(np.unique(coded.hashes.sum(axis=0))),
        columns=described_columns(coded, said),
        label=described_label(coded),
        findings=tuple(sorted(findings, key=lambda finding: list(Severity).index(finding.severity))),
        read=tuple(note for note in table.notes if note.code not in _DOUBTFUL),
        schema=None if schema is None else schema.fingerprint,
        told=told,
    )


def _table(
    data: Any,
    label: str,
    *,
    id: str | None,  # noqa: A002 - as in `read`
    options: ReadOptions | None,
    reading: Reading | None,
) -> tuple[Table, tuple[Note, ...]]:
    """The table as far as it can be read, and why the rest cannot."""
    import pandas as pd

    if isinstance(data, str | PathLike):
        asked = options or ReadOptions()
        with opened(data, asked, reading=reading) as cells:
            read = partial(Table.from_frame, label=label, options=asked, reading=reading, origin=file_name(data))
            table, refusals = _readable(read, cells.frame, id)
            return table.replace(notes=(*cells.notes, *table.notes)), refusals
    if isinstance(data, pd.DataFrame):
        return _readable(partial(Table.from_frame, label=label, options=options, reading=reading), data, id)
    return as_table(data, label=label, options=options, reading=reading), ()


def _readable(
    read: Callable[..., Table],
    frame: Any,
    id: str | None,  # noqa: A002 - as in `read`
) -> tuple[Table, tuple[Note, ...]]:
    """The table, without ids where these are no names of rows, and why they are not: a doctor does not go home."""
    try:
        return read(frame, id=id), ()
    except DataError as error:
        if error.code not in _WRONG_IDS:
            raise
        return read(frame.loc[:, [str(name) != id for name in frame.columns]]), (error.note,)


def _said(options: ReadOptions | None, reading: Reading | None) -> frozenset[str]:
    """Columns whose kind somebody said."""
    asked = options or ReadOptions()
    ordered = (one.partition("=")[0].strip() for one in asked.ordered)
    return frozenset((*asked.dates, *asked.categories, *asked.numeric, *asked.drop, *ordered, *(reading or ())))


# What a federation would refuse, with the schema that it agreed on or without one.


@contextmanager
def _noting(refusals: list[Note]) -> Iterator[None]:
    """What is refused in here is noted, and the next is looked at."""
    try:
        yield
    except FedbaryError as error:
        refusals.append(error.note)


def _refused_by_anybody(coded: CodedTable, *, whole: bool) -> list[Note]:
    """What the default settings refuse whatever the others have: too few rows, or a doubtful label.

    Rows are different only if the table is ``whole``: without a column that could not be read they may not be.
    """
    table, refusals = coded.table, list[Note]()
    where: dict[str, Fact] = {"where": table.origin}
    if len(table) < MIN_GROUP:
        return [Note("schema.too-few-rows", where | {"rows": len(table), "least": MIN_GROUP})]
    with _noting(refusals):
        check_table(table, Space())
    if table.has_classes and max(map(len, class_names(coded.labels.values))) > LONGEST_CLASS:
        facts = where | {"label": table.label_name, "longest": LONGEST_CLASS}
        refusals.append(Note("schema.label-looks-like-text", facts))
    first = np.unique(coded.hashes.sum(axis=0), return_index=True)[1]
    different = np.bincount(coded.labels.codes[first]).max() if table.has_classes else len(first)
    if whole and not refusals and different < MIN_GROUP:
        what = "different rows of one class" if table.has_classes else "different rows"
        refusals.append(Note("schema.too-few-in-a-group", where | {"least": MIN_GROUP, "what": what}))
    return refusals


def _fit(coded: CodedTable, schema: Schema, unread: Collection[str]) -> tuple[list[Note], tuple[Note, ...]]:
    """What a federation with this schema and default settings would refuse, and what it would be told.

    Columns that were ``unread`` are refused already, and nothing is told of a table without them.
    """
    table = coded.table
    refusals = _misfits(coded, schema, {one for n in unread for one in schema.reading.get(n, Number()).made(n)})
    if refusals or unread:
        return refusals, ()
    cloud = _cloud(coded, schema)
    with _noting(refusals):
        require_known_labels(table, schema, cloud, min_group=min(MIN_GROUP, cloud.distinct))
    if cloud.distinct < MIN_GROUP:
        refusals.append(Note("checkup.few-different-rows", {"count": cloud.distinct, "least": MIN_GROUP}))
    cells = count_cells(table, schema)
    return refusals, (
        Note("checkup.tells-rows", {"count": cloud.rows}),
        Note("checkup.tells-missing", {"share": cells.share(schema)}),
        *fit_notes(table, schema, cloud, cells=cells, min_group=MIN_GROUP),
    )


def _cloud(coded: CodedTable, schema: Schema) -> Points:
    """Which rows are the same point in the schema's space; where it lies is of no interest here."""
    columns = []
    for spec in schema.columns:
        if (column := coded.columns.get(spec.name)) is not None:
            if spec.kind == "categorical":  # all levels that the schema does not know are one
                places = {name: place for place, name in enumerate(spec.categories)}
                codes = [places.get(str(text), len(places)) for text in category_names(column.values)]
                column = Coded(np.array([*codes, -1])[column.codes], np.arange(len(places) + 1))
            columns.append(column)
    rows = row_hashes([*columns, coded.labels])
    _, point_of_row, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return Points(np.zeros((len(counts), 0)), counts / len(rows), point_of_row, 0)


def _misfits(coded: CodedTable, schema: Schema, unread: Collection[str]) -> list[Note]:
    """Everything in which a table does not fit: an embedding stops at the first."""
    table, refusals = coded.table, list[Note]()
    rest = tuple(column for column in schema.columns if column.name not in unread)
    reading = Reading({name: how for name, how in schema.reading.items() if name not in unread})
    schema = replace(schema, columns=rest, reading=reading, projection=None, whitening=None)
    present = [column for column in schema.columns if column.name in table.columns]
    with _noting(refusals):
        schema.label.require(table.labels, where=table.origin)
    if len(present) < len(schema.columns):
        with _noting(refusals):
            require_columns(table, schema)
    for column in present:
        with _noting(refusals):
            require_columns(table, replace(schema, columns=(column,)))
            rows = table
            if column.kind == "categorical" and schema.missing != "refuse":  # then one row of each level says it all
                first = np.unique(coded.columns[column.name].codes, return_index=True)[1]
                cells = {column.name: table.columns[column.name][first]}
                rows = Table(cells, np.zeros(len(first)), origin=table.origin)
            column.require(rows, schema.missing)
    return refusals
