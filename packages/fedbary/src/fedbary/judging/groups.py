"""`Groups`: estimates that no fewer than so many different rows can move.

A server that chose the model and the clean rows chose, too, at which score a row counts. A count that is larger by
something that the server knows passes any rounding, so it is not the estimate that must be large, but the group of rows
behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows are copies of each other (the same number), and how many different ones a group has at least."""

    copies: Integers
    least: int

    def among(self, rows: NDArray[np.bool_]) -> Groups:
        """The same for some of the rows."""
        return Groups(self.copies[rows], self.least)

    def first(self) -> NDArray[np.bool_]:
        """The first of the rows that are copies of each other."""
        found = np.zeros(len(self.copies), dtype=bool)
        found[np.unique(self.copies, return_index=True)[1]] = True
        return found
