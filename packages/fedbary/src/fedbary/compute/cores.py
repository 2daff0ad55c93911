"""Work on many rows by all cores: threads that take turns at a source, as arithmetic on arrays lets others work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from threading import Lock
from typing import Any, TypeVar

Thing = TypeVar("Thing")
Found = TypeVar("Found")
_END: Any = object()
# More of them wait for memory, not for arithmetic.
_MOST = 8


def by_all_cores(work: Callable[[Thing], object], things: Iterable[Thing]) -> None:
    """Do some work with each of many things; no more of them are made at a time than there are cores.

    Examples
    --------
    >>> found = []
    >>> by_all_cores(found.append, range(3))
    >>> sorted(found)
    [0, 1, 2]
    """
    source, turn = iter(things), Lock()

    def one_core() -> None:
        while True:
            with turn:
                thing = next(source, _END)
            if thing is _END:
                return
            work(thing)

    cores = _cores()
    if cores == 1:
        one_core()
        return
    with ThreadPoolExecutor(cores, thread_name_prefix="fedbary-core") as threads:
        for done in [threads.submit(copy_context().run, one_core) for _ in range(cores)]:
            done.result()


def found_by_all_cores(work: Callable[[Thing], Found], things: Sequence[Thing]) -> list[Found]:
    """What some work finds for each of a few things that are in memory, in their order.

    Examples
    --------
    >>> found_by_all_cores(abs, [-1, 2])
    [1, 2]
    """
    cores = min(_cores(), len(things))
    if cores <= 1:
        return [work(thing) for thing in things]
    with ThreadPoolExecutor(cores, thread_name_prefix="fedbary-core") as threads:
        return list(threads.map(lambda thing, context: context.run(work, thing), things, map(_context, things)))


def _context(_: object) -> Context:
    """What NumPy warns of here, it is to warn of there."""
    return copy_context()


def _cores() -> int:
    return min(_MOST, os.cpu_count() or 1)
