"""Who wants to see how far encoding is says so around the call that reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[str, int, int], None]
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_SECONDS = 0.1


@contextmanager
def watching_encoders(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher(column, done, total)`` while a column is encoded inside this block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


class Progress:
    """How far one column is, told a few times a second and at its end."""

    def __init__(self, column: str, total: int) -> None:
        self._column, self._total, self._done, self._told = column, total, 0, time.monotonic()

    def add(self, count: int) -> None:
        """So many cells more."""
        watcher = _WATCHER.get()
        self._done += count
        if watcher is None or (self._done < self._total and time.monotonic() < self._told + _SECONDS):
            return
        self._told = time.monotonic()
        watcher(self._column, self._done, self._total)
