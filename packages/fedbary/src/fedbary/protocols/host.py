"""What a run lends to protocols: an engine's workers, and random numbers.

These depend on a seed, a name and a round, and on nothing that happened before: a party that resumes after a crash, or
answers a repeated message, draws the same numbers again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

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


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """A generator for this place in a run, such as ``generator(seed, "gamma", client)``."""
    import numpy as np

    return np.random.default_rng(derived_seed(seed, *path))


def shared_secret(seed: int) -> int:
    """The clients' secret where one process or simulation holds them all: equal rows then get equal distances."""
    return derived_seed(seed, "clients")


def derived_seed(seed: int, *path: str | int) -> int:
    """A 63-bit seed for this place in a run; different paths give unrelated seeds."""
    digest = hashlib.blake2b(json.dumps([seed, *path]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
