"""Whose a row is: a number for each row, the same for all rows of a person; it stays with the table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from fedbary.columns.category import may_name_persons
from fedbary.data.options import ReadOptions
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

Persons = npt.NDArray[np.int64]
T = TypeVar("T")

REPEATS, ONE_ROW_EACH = "data.identifier-repeats", "data.one-row-each"
# Fewer different values name wards rather than patients, and so do those that so many rows share on average.
_FEWEST, _MOST_ROWS = 10, 20


def as_persons(values: npt.ArrayLike, rows: int) -> Persons:
    """Check the persons of a table's rows: whole numbers stay as they are, all else is numbered as it comes."""
    import pandas as pd

    given = np.asarray(values)
    if given.ndim != 1:
        raise DataError("data.persons-shape", shape=str(given.shape))
    if len(given) != rows:
        raise DataError("data.lengths-differ", column="persons", rows=len(given), labels=rows)
    if given.dtype.kind in "iu":
        return given.astype(np.int64, copy=False)
    return person_codes(pd.Series(given))


def person_codes(cells: pd.Series[Any]) -> Persons:
    """Persons numbered in the order in which they appear; a row whose cell is empty is a person of its own.

    Each cell is looked at by itself, so that no row decides who another one is: 7, 7.0 and "7 " are one person.
    """
    import pandas as pd

    names, codes = named_codes(cells)
    nobody = codes < 0
    codes = np.where(nobody, len(names) + np.cumsum(nobody), codes)
    return np.asarray(pd.factorize(codes)[0], dtype=np.int64)


def named_codes(cells: pd.Series[Any]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """The different names in a column, and for each row the place of its own; −1 where it has none."""
    import pandas as pd

    if cells.dtype == object and pd.api.types.infer_dtype(cells, skipna=True) != "string":
        cells = cells.map(_name, na_action="ignore")  # else True and 1 would be one, and lists none
    codes, values = pd.factorize(cells)
    texts = [_name(value) for value in values]
    places = {text: place for place, text in enumerate(dict.fromkeys(filter(None, texts)))}
    return list(places), np.array([*(places.get(text, -1) for text in texts), -1], dtype=np.intp)[codes]


def _name(value: Any) -> str:
    """A whole number that stands in a column with gaps is no fraction."""
    try:
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    except ValueError:  # Python writes no whole number of many thousand digits
        return hex(value)


def persons_if_there(read: Callable[[ReadOptions | None], T], options: ReadOptions | None) -> T:
    """Read a reference: it may know whose its rows are, as those of clients do, or not."""
    try:
        return read(options)
    except DataError as error:
        if options is None or (error.code, error.note.facts.get("role")) != ("data.no-such-column", "person"):
            raise
        return read(replace(options, person=None))


def repeat_notes(columns: Iterable[tuple[Hashable, pd.Series[Any]]]) -> tuple[Note, ...]:
    """Columns that are called like names and in which these repeat, as a patient's does in each of its rows."""
    found = []
    for name, cells in columns:
        if may_name_persons(str(name)):
            names, codes = named_codes(cells)
            counts = np.bincount(codes[codes >= 0], minlength=1)
            if len(names) >= _FEWEST and counts.max() > 1 and counts.sum() <= _MOST_ROWS * len(names):
                found.append(Note(REPEATS, {"column": str(name), "most": int(counts.max())}))
    return tuple(found)
