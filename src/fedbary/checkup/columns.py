"""Columns that say too little or too much: constant, hardly ever filled in, or the label once more."""

from __future__ import annotations

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable
from fedbary.checkup.finding import Finding, Severity
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.wording import number, on_one_line

# A column with fewer values than this share of its rows is mostly missing.
_HALF = 0.5
# Rows for each class from which on it is no chance that a column says the same as the label.
_LEAST_ROWS = 10


def odd_columns(coded: CodedTable, schema: Schema | None) -> list[Finding]:  # noqa: ARG001 - as all that look at tables
    """Columns that say the same in every row, those of which most cells are missing, and copies of the label.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> [finding.code for finding in odd_columns(CodedTable.of(Table({"ward": [7, 7]}, ["a", "b"])), None)]
    ['checkup.constant']
    """
    found = []
    for name, column in coded.columns.items():
        missing = column.missing
        if len(column.values) == 1 and not missing and column.values.ndim == 1:
            value = column.values[0]
            said = number(value) if column.values.dtype.kind == "f" else on_one_line(str(value))
            found.append(Note("checkup.constant", {"column": name, "value": said}))
        elif _HALF * len(column.codes) < missing < len(column.codes):
            share = missing / len(column.codes)
            found.append(Note("checkup.mostly-missing", {"column": name, "count": missing, "share": share}))
    notes = [Finding(note, Severity.NOTE) for note in found]
    return notes + [
        Finding(Note("checkup.label-again", {"column": name}), Severity.DOUBTFUL)
        for name, column in coded.columns.items()
        if coded.table.has_classes and _says_the_same(column, coded.labels)
    ]


def _says_the_same(column: Coded, labels: Coded) -> bool:
    """Whether each class has a value of its own, in all of many rows."""
    classes = len(labels.values)
    if not 1 < len(column.values) == classes or len(column.codes) < _LEAST_ROWS * classes or column.missing:
        return False
    return len(np.unique(column.codes * classes + labels.codes)) == classes
