"""Columns that say little: constant, or hardly ever filled in."""

from __future__ import annotations

from fedbary.checkup.coded import CodedTable
from fedbary.checkup.finding import Finding, Severity
from fedbary.notes import Note
from fedbary.wording import number, on_one_line

# A column with fewer values than this share of its rows is mostly missing.
_HALF = 0.5


def dull_columns(coded: CodedTable) -> list[Finding]:
    """Columns that say the same in every row, and columns of which most cells are missing.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> [finding.code for finding in dull_columns(CodedTable.of(Table({"ward": [7, 7]}, ["a", "b"])))]
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
    return [Finding(note, Severity.NOTE) for note in found]
