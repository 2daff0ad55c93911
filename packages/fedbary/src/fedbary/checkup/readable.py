"""As much of a table as can be read: a doctor does not go home at the first finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

_WRONG_IDS = ("data.ids-missing", "data.ids-repeat")


def readable_table(
    frame: pd.DataFrame,
    label: str,
    *,
    id: str | None,  # noqa: A002 - as in `read`
    options: ReadOptions | None,
    reading: Reading | None,
    origin: str,
) -> tuple[Table, tuple[Note, ...]]:
    """The table without the columns, ids and rows that reading refuses, and why it refuses them.

    Raises a DataError where nothing would be left to look at.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 1, "old", 7], "city": list("abab"), "label": ["x", None, "y", "x"]})
    >>> table, refusals = readable_table(frame, "label", id=None, options=None, reading=None, origin="")
    >>> table, [note.code for note in refusals]
    (Table(3 rows, 1 columns, label 'label'), ['data.labels-missing', 'data.mixed-column'])
    """
    refusals: list[DataError] = []
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    while True:
        try:
            table = Table.from_frame(frame, label, id=id, options=options, reading=reading, origin=origin)
        except DataError as error:
            less = _without(frame, error, label)
            if less is None:
                raise (refusals[0] if error.code == "data.no-features" and refusals else error) from error
            refusals.append(error)
            id = None if error.code in _WRONG_IDS else id  # noqa: A001
            frame = less
        else:
            return table, tuple(error.note for error in refusals)


def _without(frame: pd.DataFrame, error: DataError, label: str) -> pd.DataFrame | None:
    """The frame without what an error is about; None where that cannot be left out."""
    facts = error.note.facts
    if error.code == "data.labels-missing":
        rest = frame[frame[label].notna()]
        return rest if 0 < len(rest) < len(frame) else None
    name = facts.get("name") if error.code in _WRONG_IDS else facts.get("column")
    if name == label or name not in frame.columns:
        return None
    return frame.drop(columns=str(name))
