"""Copies among rows that are not in memory together, by their hashes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def first_and_group(hashes: NDArray[np.bytes_]) -> tuple[Integers, Integers]:
    """The first row of each group of those with equal hashes, in order, and the group of each row.

    Examples
    --------
    >>> from fedbary.space.row_identity import hashed_rows
    >>> first_and_group(hashed_rows(np.array([[5.0], [3.0], [5.0], [4.0]])))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    words = hashes.view(np.uint64).reshape(-1, 2)
    order = np.lexsort(words.T)
    ordered = words[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = order[begins]  # sorting is stable
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(begins) - 1]
    return np.sort(first), group


def joined(one: NDArray[np.bytes_], other: NDArray[np.bytes_]) -> NDArray[np.bytes_]:
    """Hashes of rows by those of two matrices that stand side by side."""
    turned = np.roll(other.view(np.uint64).reshape(-1, 2), 1, axis=1)  # equal matrices must not cancel
    return (one.view(np.uint64).reshape(-1, 2) * np.uint64(3) + turned).view("S16").ravel()
