"""Sparse matrices of SciPy: dense where they are narrow, else a projection that is the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array, block_dtype
from fedbary.notes import Note

# The width alone decides: owners with more or fewer rows must come to the same columns.
WIDEST = 4096
PROJECTED = 1024
_NONZEROS = 8  # of each row of the projection


def is_sparse(X: object) -> bool:
    """Whether it is a sparse matrix or array of SciPy."""
    return type(X).__module__.startswith("scipy.sparse")


def dense(X: Any) -> tuple[Array, tuple[Note, ...]]:
    """A sparse matrix as an array; one of more than 4096 columns as its projection to 1024, with a note."""
    if X.ndim != 2 or X.shape[1] <= WIDEST or X.dtype.kind not in "biuf":
        return X.toarray(), ()
    rows = X.tocsr().astype(block_dtype(X.dtype))
    block = (rows @ projection(X.shape[1], rows.dtype)).toarray()
    return block, (Note("data.sparse-projected", {"columns": X.shape[1], "width": PROJECTED}),)


def projection(width: int, dtype: npt.DTypeLike = np.float64) -> Any:
    """The public projection: eight entries ±1/√8 in each row, one in each eighth of its columns.

    Distances survive it up to a few per cent (Kane and Nelson, Sparser Johnson-Lindenstrauss transforms, 2014: their
    block construction). Places and signs are hashes of the column's number, which no version of any library changes.
    """
    from scipy.sparse import csr_array

    mixed = _splitmix64(np.arange(width * _NONZEROS, dtype=np.uint64).reshape(width, _NONZEROS))
    share = PROJECTED // _NONZEROS
    places = (mixed >> np.uint64(1)) % np.uint64(share) + np.arange(_NONZEROS, dtype=np.uint64) * np.uint64(share)
    signs = np.where(mixed & np.uint64(1), 1.0, -1.0) / np.sqrt(_NONZEROS)
    ends = np.arange(width + 1) * _NONZEROS
    entries = (signs.ravel().astype(dtype), places.ravel().astype(np.int64), ends)
    return csr_array(entries, shape=(width, PROJECTED))


def _splitmix64(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Steele, Lea and Flood's generator (2014) as a hash: every bit of the result depends on every bit."""
    mixed = state * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
