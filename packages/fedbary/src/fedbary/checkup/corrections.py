"""What is certain to be meant otherwise than it is written: known names, numbers, marks of missing cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.checkup.spelling import respelled
from fedbary.checkup.subject import Subject
from fedbary.columns import Column, Number
from fedbary.columns.number_texts import numbers_of
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

_MOST_NAMED = 20


@dataclass(frozen=True)
class Correction:
    """Cells of one column that are certain to be meant otherwise: each as it is written, and as it should be."""

    code: str
    column: str
    changes: Mapping[str, str]
    count: int

    @property
    def note(self) -> Note:
        """The correction in words; each change where they are few."""
        changes = tuple(f"{old!r} → {new!r}" for old, new in self.changes.items())[:_MOST_NAMED]
        return Note(self.code, {"column": self.column, "count": self.count, "changes": changes})


def corrections_of(frame: pd.DataFrame, subject: Subject) -> tuple[Correction, ...]:
    """What can be corrected in the cells of a file without asking anybody.

    Labels and levels are respelled where the schema has just one of that spelling; numbers that are written with a
    decimal comma, groups of digits or a unit are written plainly; what stands for a missing cell is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from fedbary.data.reading import Reading
    >>> frame = pd.DataFrame({"dose": ["1,5", "-", "2"], "label": ["a", "b", "b"]})
    >>> reading = Reading({"dose": Number(decimal=",")})
    >>> for correction in corrections_of(frame, Subject(frame, "label", reading=reading)):
    ...     print(correction.note)
    column 'dose': 1 number is written plainly ('1,5' → '1.5')
    column 'dose': 1 cell is left empty ('-' → '')
    """
    schema = subject.schema
    known = {} if schema is None else {column.name: column.categories for column in schema.columns}
    classes = schema.label.classes if schema is not None and schema.label.kind == "classes" else ()
    found = []
    for place, name in enumerate(map(str, frame.columns)):
        if name != subject.label and name not in subject.reading:
            continue
        counts = _texts(frame.iloc[:, place])
        if name == subject.label:
            changes = {"checkup.fixed-labels": _stripped(counts) | _to_known(counts, classes)}
        else:
            how = subject.reading[name]
            changes = {
                "checkup.fixed-levels": _to_known(counts, known.get(name, ())),
                "checkup.fixed-numbers": _plain_numbers(counts, how, subject.options.decimal),
                "checkup.fixed-missing": _emptied(counts, how),
            }
        found += [
            Correction(code, name, changed, sum(counts[cell] for cell in changed))
            for code, changed in changes.items()
            if changed
        ]
    return tuple(found)


def _texts(cells: pd.Series[Any]) -> dict[str, int]:
    """The different texts of a column, and how many cells have each."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(cells.dtype) or pd.api.types.is_datetime64_any_dtype(cells.dtype):
        return {}
    codes, values = pd.factorize(cells.to_numpy(dtype=object))
    counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
    return {value: count for value, count in zip(values, counts, strict=True) if isinstance(value, str)}


def _stripped(cells: Mapping[str, int]) -> dict[str, str]:
    return {cell: cell.strip() for cell in cells if cell.strip() != cell}


def _emptied(cells: Mapping[str, int], how: Column) -> dict[str, str]:
    """What stands for a missing cell in a column of that kind."""
    return {cell: "" for cell in cells if cell.strip().lower() in how.marks}


def _to_known(cells: Mapping[str, int], known: tuple[str, ...]) -> dict[str, str]:
    """Cells that are one of the known names in another spelling."""
    return respelled((cell for cell in cells if cell.strip() not in known), known) if known else {}


def _plain_numbers(cells: Mapping[str, int], how: Column, decimal: str | None) -> dict[str, str]:
    """Numbers as every program reads them; times of day are left as they are."""
    if not isinstance(how, Number):
        return {}
    odd = [cell for cell in cells if not _is_plain(cell) and ":" not in cell]
    numbers = numbers_of([cell.strip() for cell in odd], decimal or how.decimal)
    return {cell: _written(number) for cell, number in zip(odd, numbers.tolist(), strict=True) if isfinite(number)}


def _is_plain(cell: str) -> bool:
    try:
        return isfinite(float(cell))
    except ValueError:
        return False


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
