"""`Spool`: the rows of a matrix as they come, in memory while they are few, else in a file without a name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Bytes that stay in memory.
_IN_MEMORY = 2**26


class Spool:
    """Rows of ``width`` numbers, written once and read in order as often as needed, in the parts that they came in.

    The file has no name (where the system allows that) and is gone with the process that wrote it.
    """

    def __init__(self, width: int, dtype: DTypeLike = np.float64) -> None:
        self._width, self._dtype = width, np.dtype(dtype)
        self._lengths: list[int] = []
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, prefix="fedbary-")  # noqa: SIM115

    @classmethod
    def of(cls, rows: NDArray[np.generic]) -> Spool:
        """A matrix that is there already."""
        spool = cls(int(rows.shape[1]), rows.dtype)
        spool.append(rows)
        return spool

    def __len__(self) -> int:
        return sum(self._lengths)

    @property
    def width(self) -> int:
        """Numbers of a row."""
        return self._width

    def append(self, rows: NDArray[np.generic]) -> None:
        """Put rows after those that are there."""
        values = np.ascontiguousarray(rows, dtype=self._dtype).reshape(len(rows), self._width)
        self._file.seek(0, 2)
        self._file.write(values.reshape(-1).view(np.uint8).data)
        self._lengths.append(len(values))

    def parts(self, most: int | None = None) -> Iterator[NDArray[Any]]:
        """The rows, a part at a time, or in pieces of ``most`` rows of it at most."""
        start = 0
        for length in self._lengths:
            for first in range(0, length, most or max(length, 1)):
                rows = min(most or length, length - first)
                size = rows * self._width * self._dtype.itemsize
                self._file.seek(start)
                yield np.frombuffer(self._file.read(size), dtype=self._dtype).reshape(rows, self._width)
                start += size

    def placed(self, most: int | None = None) -> Iterator[tuple[slice, NDArray[Any]]]:
        """The same, each with its place among all rows."""
        start = 0
        for rows in self.parts(most):
            yield slice(start, start + len(rows)), rows
            start += len(rows)

    def take(self, chosen: NDArray[np.integer]) -> NDArray[Any]:
        """Some rows, whose places are given in order."""
        parts = [np.zeros((0, self._width), self._dtype)]
        for place, rows in self.placed():
            first, last = np.searchsorted(chosen, (place.start, place.stop))
            parts.append(rows[chosen[first:last] - place.start])
        return np.concatenate(parts)

    def array(self) -> NDArray[Any]:
        """All rows at once."""
        return np.concatenate([np.zeros((0, self._width), self._dtype), *self.parts()])


Thing = TypeVar("Thing")
_END: Any = object()


def ahead(things: Iterable[Thing]) -> Iterator[Thing]:
    """The same things in the same order, each but the first made in another thread while the one before is used.

    Reading and arithmetic on arrays let other threads work, so that two cores share a walk over a table.
    """
    source = iter(things)
    with ThreadPoolExecutor(1, thread_name_prefix="fedbary-ahead") as thread:
        coming = thread.submit(next, source, _END)
        while (thing := coming.result()) is not _END:
            coming = thread.submit(next, source, _END)
            yield thing
