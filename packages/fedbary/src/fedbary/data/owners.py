"""One file that holds the rows of many clients: a column says whose each row is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.data.formats.cells import Cells
from fedbary.data.persons import named_codes
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OwnedRows:
    """The cells of each client, in the order in which they come; the column that tells them apart is not among them.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"site": [7.0, 7.0, None, 12.0], "age": [31, 45, 52, 60]})
    >>> owned = OwnedRows.of(Cells(frame), "site")
    >>> owned.names, owned.cells("7").frame["age"].tolist(), [note.code for note in owned.notes]
    (['7', '12'], [31, 45], ['formats.rows-of-nobody'])
    """

    names: list[str]
    notes: tuple[Note, ...]
    _frame: pd.DataFrame
    _codes: np.ndarray[Any, np.dtype[np.intp]]

    @classmethod
    def of(cls, cells: Cells, column: str) -> OwnedRows:
        """Tell the rows of clients apart."""
        columns = [str(name) for name in cells.frame.columns]
        if column not in columns:
            guess = did_you_mean(column, columns)
            raise DataError("formats.no-client-column", column=column, guess=guess, names=tuple(columns))
        names, codes = named_codes(cells.frame.iloc[:, columns.index(column)])
        if not names:
            raise DataError("formats.no-owner", column=column)
        nobody = int(np.count_nonzero(codes < 0))
        note = (Note("formats.rows-of-nobody", {"column": column, "count": nobody}),) if nobody else ()
        return cls(names, (*cells.notes, *note), without_column(cells.frame, column), codes)

    def cells(self, name: str) -> Cells:
        """The cells of one client."""
        place = self.names.index(name) if name in self.names else len(self.names)
        return Cells(self._frame.iloc[np.flatnonzero(self._codes == place)], self.notes)


def without_column(frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """A frame without the column that says whose a row is, if it has one."""
    kept = [str(name) != column for name in frame.columns]
    return frame if all(kept) else frame.loc[:, kept]
