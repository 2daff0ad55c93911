"""`check`: an owner looks at a table before anything is shared."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from fedbary.checkup.classes import odd_classes
from fedbary.checkup.coded import CodedTable
from fedbary.checkup.columns import odd_columns
from fedbary.checkup.copies import copied_rows, repeated_rows
from fedbary.checkup.described import described_columns, described_label
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.levels import odd_levels
from fedbary.checkup.numbers import odd_numbers
from fedbary.checkup.readable import readable_table
from fedbary.checkup.refusals import fit_to_schema, refused_by_anybody
from fedbary.checkup.result import Checkup
from fedbary.checkup.subject import Subject
from fedbary.columns.column import UNREAD, UNREAD_CELLS
from fedbary.data.formats import opened
from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.objects import as_table
from fedbary.data.options import ReadOptions
from fedbary.data.persons import REPEATS, persons_if_there
from fedbary.data.places import AnyPath, file_name
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.sketch import Sketch
from fedbary.space.fit import fit_schema
from fedbary.space.schema import Schema

# What is looked for, in the order in which it is told.
_LOOKS = (odd_numbers, odd_levels, odd_classes, odd_columns, copied_rows)
# What is to be looked at in a table that is taken all the same.
_DOUBTFUL = (UNREAD, UNREAD_CELLS, WITHOUT_LABEL, REPEATS)


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
    fit = refused_by_anybody(coded, whole=not unread)
    if schema is not None:
        fit = fit_to_schema(coded, schema, unread=wanted & unread.keys())
    columns = described_columns(coded, said)
    findings = [Finding(note, Severity.REFUSED) for note in (*refusals, *fit.refusals)]
    left_out = [note for note in table.notes if note.code in _DOUBTFUL and note.facts.get("why") not in refusals]
    findings += [Finding(note, Severity.DOUBTFUL) for note in left_out]
    for look in _LOOKS:
        findings += look(coded, schema)
    return Checkup(
        origin=table.origin,
        rows=len(table),
        copies=repeated_rows(coded),
        columns=columns,
        label=described_label(coded),
        findings=tuple(sorted(findings, key=lambda finding: list(Severity).index(finding.severity))),
        read=tuple(note for note in table.notes if note.code not in _DOUBTFUL),
        schema=None if schema is None else schema.fingerprint,
        told=fit.told,
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
            table, refusals = readable_table(
                cells.frame, label, id=id, options=asked, reading=reading, origin=file_name(data)
            )
            return table.replace(notes=(*cells.notes, *table.notes)), refusals
    if isinstance(data, pd.DataFrame):
        return readable_table(data, label, id=id, options=options, reading=reading, origin="")
    return as_table(data, label=label, options=options, reading=reading), ()


def _said(options: ReadOptions | None, reading: Reading | None) -> frozenset[str]:
    """Columns whose kind somebody said."""
    asked = options or ReadOptions()
    ordered = (one.partition("=")[0].strip() for one in asked.ordered)
    return frozenset((*asked.dates, *asked.categories, *asked.numeric, *asked.drop, *ordered, *(reading or ())))
