"""Rows that repeat others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.checkup.coded import Coded, CodedTable

Hashes = NDArray[np.uint64]


def repeated_rows(coded: CodedTable) -> int:
    """How many rows repeat an earlier one in every cell and the label.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> repeated_rows(CodedTable.of(Table({"age": [31, 31, 45]}, ["a", "a", "b"])))
    1
    """
    hashes = column_hashes([*coded.columns.values(), coded.labels])
    return len(coded.table) - len(np.unique(hashes.sum(axis=0)))


def column_hashes(columns: list[Coded]) -> Hashes:
    """A number for every cell, by column and row; their sum stands for the row, and without one column for the rest.

    Different values have different random numbers, so that two rows agree by chance once in 10¹⁹ pairs.
    """
    rng = np.random.default_rng(0)
    drawn = [rng.integers(2**64, size=len(column.values) + 1, dtype=np.uint64) for column in columns]
    return np.stack([numbers[column.codes] for numbers, column in zip(drawn, columns, strict=True)])
