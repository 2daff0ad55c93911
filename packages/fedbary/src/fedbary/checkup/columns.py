"""Columns that say too little or too much: constant, hardly ever filled in, the label once more, or misnamed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable
from fedbary.checkup.described import in_words
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.spelling import respelled, similar
from fedbary.notes import Note
from fedbary.space.schema import Schema

# A column with fewer values than this share of its rows is mostly missing.
_HALF = 0.5
# Rows for each class from which on it is no chance that a column says the same as the label.
_LEAST_ROWS = 10


def odd_columns(coded: CodedTable, schema: Schema | None) -> list[Finding]:
    """Columns that say the same in every row, those that most rows lack, copies of the label, and wrong names."""
    rows = len(coded.table)
    found = [] if schema is None else _misnamed(list(coded.columns), [column.name for column in schema.columns])
    for name, column in coded.columns.items():
        missing = column.missing
        if len(column.values) == 1 and not missing and column.values.ndim == 1:
            value = in_words(column.values[0], coded.kind(name))
            found.append(Finding(Note("checkup.constant", {"column": name, "value": value}), Severity.NOTE))
        elif _HALF * rows < missing < rows:
            note = Note("checkup.mostly-missing", {"column": name, "count": missing, "share": missing / rows})
            found.append(Finding(note, Severity.NOTE))
        if coded.table.has_classes and _says_the_same(column, coded.labels):
            found.append(Finding(Note("checkup.label-again", {"column": name}), Severity.DOUBTFUL))
    empty = int(np.all([column.codes < 0 for column in coded.columns.values()], axis=0).sum())
    if empty:
        found.append(Finding(Note("checkup.empty-rows", {"count": empty}), Severity.DOUBTFUL))
    return found


def _misnamed(names: Sequence[str], wanted: Sequence[str]) -> list[Finding]:
    """Columns that are probably the schema's by another name."""
    extra, missing = (sorted(set(one) - set(other)) for one, other in ((names, wanted), (wanted, names)))
    meant = respelled(extra, missing)
    meant |= {name: guess for name in extra if name not in meant and (guess := similar(name, missing))}
    return [
        Finding(Note("checkup.column-name", {"column": name, "meant": guess}), Severity.DOUBTFUL)
        for name, guess in meant.items()
    ]


def _says_the_same(column: Coded, labels: Coded) -> bool:
    """Whether each class has a value of its own, in all of many rows."""
    classes = len(labels.values)
    if not 1 < len(column.values) == classes or len(column.codes) < _LEAST_ROWS * classes or column.missing:
        return False
    return len(np.unique(column.codes * classes + labels.codes)) == classes
