"""`HeldParts`: rows that are gone through more than once, moved to the device once where they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

from fedbary.compute.arrays import Array, Arrays


class HeldParts:
    """The parts of a matrix on a device, in order and as often as needed.

    Parameters
    ----------
    parts : callable
        Gives the parts anew.
    size : int
        Bytes of all of them. More than the device has room for are moved again each time.
    xp : Arrays
        The device's arrays.
    """

    def __init__(self, parts: Callable[[], Iterator[NDArray[Any]]], size: int, xp: Arrays) -> None:
        self._parts, self._xp = parts, xp
        self._fits = size <= xp.room()
        self._held: list[Array] | None = None

    def __iter__(self) -> Iterator[Array]:
        if self._held is not None:
            yield from self._held
            return
        held = []
        for part in self._parts():
            there = self._xp.asarray(part)
            if self._fits:
                held.append(there)
            yield there
        if self._fits:
            self._held = held
