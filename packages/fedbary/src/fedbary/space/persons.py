"""Persons, not rows: the one row of each person that an answer with ε is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table


def one_row_each(table: Table, order: NDArray[np.intp] | None = None) -> Table:
    """One row of each person, drawn by lot: the first of them in a random ``order`` of all rows.

    Which one it is depends on that person's rows alone: lots within different persons are independent. So tables that
    differ in all rows of one person differ here in one row, whatever lots fell elsewhere, and what is ε-differentially
    private for one row of this table is so for a whole person of the other; its number of rows is that of persons.
    """
    if table.persons is None:
        return table
    drawn = np.random.default_rng().permutation(len(table)) if order is None else order
    _, first = np.unique(table.persons[drawn], return_index=True)
    return table.take(np.sort(drawn[first]))
