"""`Duration`: lengths of time as people write them, 01:30:00, 90 min, 1d 2h; as a number of hours.

The example of how a kind is added (CONTRIBUTING): this file, its line in `fedbary.columns.KINDS`, and its tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fedbary.columns.arrays import Array, measured
from fedbary.columns.category import names_rows
from fedbary.columns.column import (
    NUMBER_MARKS,
    Clues,
    Column,
    ColumnCells,
    Mask,
    TextCells,
    are_few,
    as_numbers,
    as_texts,
    groups,
    matches,
)

# Those of which everybody knows how long they are: no months, no years.
_HOURS = {"weeks": 168.0, "days": 24.0, "hours": 1.0, "minutes": 1 / 60, "seconds": 1 / 3600}
_UNITS = {
    "weeks": "w|wks?|weeks?",
    "days": "d|days?",
    "hours": "h|hrs?|hours?",
    "minutes": "m|mins?|minutes?",
    "seconds": "s|secs?|seconds?",
}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_WRITTEN = "(?i)(?P<sign>-?)" + "".join(
    rf"(?:(?P<{part}>{_NUMBER}) ?(?:{unit})(?:,? ?))?" for part, unit in _UNITS.items()
)
_CLOCK = (
    r"(?i)(?P<sign>-?)(?:(?P<days>[0-9]+) ?(?:d|days?),? )?"
    r"(?P<hours>[0-9]+):(?P<minutes>[0-5][0-9]):(?P<seconds>[0-5][0-9](?:\.[0-9]+)?)"
)


@dataclass(frozen=True)
class Duration(Column):
    """A length of time, in hours."""

    kind: ClassVar[str] = "duration"
    words: ClassVar[str] = "a length of time"
    plural: ClassVar[str] = "lengths of time"
    marks: ClassVar[frozenset[str]] = NUMBER_MARKS
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Texts that else were categories, and all but a few of which are lengths of time."""
        cells = clues.texts
        if cells is None or not cells.telling or names_rows(clues):
            return None
        counts, unread = cells.counts()[~cells.marks], np.isnan(_hours_of(cells))
        if unread.all() or not are_few(int(counts[unread].sum()), int(counts.sum())):
            return None
        clues.notes.append("data.read-as-numbers")
        return cls()

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """Hours; a number without a unit could be anything."""
        texts = as_texts(cells)
        return measured(*texts.spread_telling(_hours_of(texts)))


def _hours_of(cells: TextCells) -> NDArray[np.float64]:
    return cells.once("hours", lambda: _hours(cells.telling_arrow))


def _hours(texts: Any) -> NDArray[np.float64]:
    found = np.full(len(texts), np.nan)
    for pattern in (_WRITTEN, _CLOCK):
        fits, parts = groups(texts, pattern)
        fits &= ~matches(texts, "-?")  # none of the parts has to be there
        if fits.any():
            sums = np.zeros(len(texts))
            for part, hours in _HOURS.items():
                if part in parts:
                    sums += hours * as_numbers(parts[part], "0")
            found[fits] = np.where(matches(parts["sign"], "-"), -sums, sums)[fits]
    return found
