"""As much of a table as can be read: a doctor does not go home at the first finding."""

from __future__ import annotations

from functools import partial
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
    """The table, without ids where these are no names of rows, and why they are not.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 1, 7], "bed": [4, 4, 5], "label": ["x", "y", "x"]})
    >>> table, refusals = readable_table(frame, "label", id="bed", options=None, reading=None, origin="")
    >>> table, [note.code for note in refusals]
    (Table(3 rows, 1 columns, label 'label'), ['data.ids-repeat'])
    """
    read = partial(Table.from_frame, label=label, options=options, reading=reading, origin=origin)
    try:
        return read(frame, id=id), ()
    except DataError as error:
        if error.code not in _WRONG_IDS:
            raise
        rest = frame.loc[:, [str(name) != id for name in frame.columns]]
        return read(rest), (error.note,)
