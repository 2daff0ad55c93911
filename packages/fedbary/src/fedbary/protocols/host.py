"""`Host`: what an engine lends to the server's half of a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

ParallelMap = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Host:
    """What an engine lends to a server: its workers, and a way to say what the server is busy with.

    Where the clients are other parties there is also a ``secret``, which is another one in every run: the seed is a
    setting, and often 0. With ``one_answer`` nobody is asked twice after a model: people carry files.
    """

    map: ParallelMap = map
    busy: Callable[[str], None] = lambda _: None
    secret: int | None = None
    one_answer: bool = False


ALONE = Host()
