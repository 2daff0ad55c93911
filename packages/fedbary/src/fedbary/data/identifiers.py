"""Columns that name rows rather than describe them: nothing can be learnt from them, and they say who is who."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fedbary.data.columns import Array

# Below so many rows anything can be all different by chance.
_ENOUGH_ROWS = 20
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDS = {"id", "ids", "uuid", "guid", "identifier", "rowid", "rownum", "unnamed"}
_NUMBERS = {"number", "no", "nr", "num", "nummer", "key", "code"}
_THINGS = {
    "sample", "patient", "case", "record", "row", "customer", "client", "account", "person", "subject", "order",
    "invoice", "ticket", "user", "member", "employee", "student", "policy", "serial", "registration", "passport",
    "phone", "telephone", "line", "sequence", "participant", "specimen", "admission", "visit", "transaction", "booking",
}  # fmt: skip
# What a person may have several of, and numbers of rows.
_EVENTS = {
    "sample", "record", "row", "order", "invoice", "ticket", "line", "sequence", "specimen", "admission", "visit",
    "transaction", "booking", "serial", "case", "unnamed", "rowid", "rownum",
}  # fmt: skip
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def is_named_like_an_id(name: str) -> bool:
    """Whether a column's name says that it names rows.

    Examples
    --------
    >>> [is_named_like_an_id(name) for name in ("id", "patient_id", "PatientID", "Sample Number", "Unnamed: 0")]
    [True, True, True, True, True]
    >>> [is_named_like_an_id(name) for name in ("width", "Number of children", "humid", "grid", "code")]
    [False, False, False, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if words[0] in _IDS or words[-1] in _IDS:
        return True
    return words[-1] in _NUMBERS and any(word in _THINGS for word in words[:-1])


def may_name_persons(name: str) -> bool:
    """Whether a column of such a name may say whose a row is.

    Examples
    --------
    >>> [may_name_persons(name) for name in ("patient_id", "ID", "Individual ID", "Sample Number", "age")]
    [True, True, True, False, False]
    """
    return is_named_like_an_id(name) and not _EVENTS.intersection(word.lower() for word in _WORD.findall(name))


def are_row_numbers(cells: Array) -> bool:
    """Whether whole numbers are all different and leave no gap, as numbers of rows do.

    Years do that, too, where there is one row for each.

    Examples
    --------
    >>> are_row_numbers(np.arange(100, 150)), are_row_numbers(np.arange(1980, 2020)), are_row_numbers(np.arange(3))
    (True, False, False)
    """
    if len(cells) < _ENOUGH_ROWS or (cells.dtype.kind == "f" and np.isnan(cells).any()):
        return False
    first, last = float(cells.min()), float(cells.max())
    if not first.is_integer() or last - first + 1 != len(cells) or (first >= 1000 and last < 3000 and len(cells) < 300):
        return False
    return bool(np.array_equal(np.sort(cells), np.arange(len(cells)) + first))


def look_like_ids(name: str, levels: Sequence[str], rows: int) -> bool:
    """Whether texts name rows: all of them are different, or most are and the column is called like an id.

    Examples
    --------
    >>> look_like_ids("name", [f"Ann {row}" for row in range(30)], 30), look_like_ids("job", ["cook", "nurse"], 2)
    (True, False)
    """
    if rows == 0:
        return False
    if len(levels) == rows and (rows >= _ENOUGH_ROWS or (rows > 1 and is_named_like_an_id(name))):
        return True
    if 2 * len(levels) > rows >= _ENOUGH_ROWS and is_named_like_an_id(name):
        return True
    return len(levels) > 1 and all(_UUID.fullmatch(level) for level in levels)
