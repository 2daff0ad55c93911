"""`Groups`: estimates that no fewer than so many different rows can move.

A server that chose the model and the clean rows chose, too, at which score a row counts. A count that is larger by
something that the server knows passes any rounding, so it is not the estimate that must be large, but the group of rows
behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
        """The first of the rows that are copies of each other.

        Examples
        --------
        >>> Groups(np.array([1, 0, 1]), 2).first()
        array([ True,  True, False])
        """
        found = np.zeros(len(self.copies), dtype=bool)
        found[np.unique(self.copies, return_index=True)[1]] = True
        return found

    def ends_shared(self, values: Floats) -> Floats:
        """The values, of which the smallest of ``least`` different rows become their mean, and the largest likewise.

        Examples
        --------
        >>> Groups(np.arange(6), 2).ends_shared(np.array([0.0, 0.4, 0.5, 0.6, 0.9, 1.0]))
        array([0.2 , 0.2 , 0.5 , 0.6 , 0.95, 0.95])
        """
        shared = np.array(values, dtype=float)
        _, first, of_row = np.unique(self.copies, return_index=True, return_inverse=True)
        order = np.argsort(shared[first], kind="stable")
        for end in (order[: self.least], order[::-1][: self.least]):
            inside = np.isin(of_row, end)
            if inside.any():
                shared[inside] = shared[inside].mean()
        return shared

    def count(self, rows: NDArray[np.bool_]) -> int:
        """How many rows these are; none where too few are different, and all where too few others are.

        Examples
        --------
        >>> groups = Groups(np.array([0, 0, 1, 2, 3]), 2)
        >>> groups.count(np.array([True, True, False, False, False])), groups.count(np.arange(5) < 3)
        (0, 3)
        """
        if self.different(rows) < self.least:
            return 0
        return len(rows) if self.different(~rows) < self.least else int(rows.sum())

    def whole(self, counts: Floats) -> Floats:
        """Counts in steps of ``least`` rows, so that one row hardly ever shows in what is made of them.

        Examples
        --------
        >>> Groups(np.arange(9), 5).whole(np.array([4.0, 9.9, 10.0]))
        array([ 0.,  5., 10.])
        """
        return np.asarray(np.floor(counts / self.least) * self.least)

    def different(self, rows: NDArray[np.bool_]) -> int:
        """How many of these rows are different."""
        return len(np.unique(self.copies[rows]))
