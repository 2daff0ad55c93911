"""`ahead`: the next thing is made while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Thing = TypeVar("Thing")
_END: Any = object()


def ahead(things: Iterable[Thing]) -> Iterator[Thing]:
    """The same things in the same order, each but the first made in another thread while the one before is used.

    Reading and arithmetic on arrays let other threads work, so that two cores share a walk over a table.

    Examples
    --------
    >>> list(ahead(n**2 for n in range(3)))
    [0, 1, 4]
    """
    source = iter(things)
    with ThreadPoolExecutor(1, thread_name_prefix="fedbary-ahead") as thread:
        coming = thread.submit(next, source, _END)
        while (thing := coming.result()) is not _END:
            coming = thread.submit(next, source, _END)
            yield thing
