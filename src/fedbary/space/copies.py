"""Copies among rows that are not in memory together: by 128-bit hashes of their numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

# Rows that are hashed at once: they stay in the processor's cache.
_BLOCK = 512
_GOLDEN, _HALF, _LESS = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(29)


def row_hashes(values: Floats) -> Hashes:
    """Two numbers for each row of a matrix, the same for equal rows; for others, they agree in one of 2⁶⁶ pairs.

    The bits of each number are mixed first, since those of small whole numbers are nearly all zero; then the numbers
    are added up with random odd factors (multilinear hashing), once for each of the two.

    Examples
    --------
    >>> first, second, third = row_hashes(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])).tolist()
    >>> first == second, first == third
    (True, False)
    """
    factors = np.random.default_rng(0).integers(0, 2**64, size=(values.shape[1], 2), dtype=np.uint64) | np.uint64(1)
    hashes = np.empty((len(values), 2), dtype=np.uint64)
    for start in range(0, len(values), _BLOCK):
        bits = (values[start : start + _BLOCK] + 0.0).view(np.uint64)  # −0.0 and 0.0 have different bits
        bits ^= bits >> _HALF
        bits *= _GOLDEN
        bits ^= bits >> _LESS
        hashes[start : start + _BLOCK] = bits @ factors
    return hashes


def first_and_group(hashes: Hashes) -> tuple[Integers, Integers]:
    """The first row of each group of equal ones, in order, and the group of each row.

    Examples
    --------
    >>> first_and_group(row_hashes(np.array([[5.0], [3.0], [5.0], [4.0]])))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = order[begins]  # sorting is stable
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(begins) - 1]
    return np.sort(first), group
