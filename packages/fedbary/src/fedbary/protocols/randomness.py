"""Random numbers that depend on a seed, a name and a round, and on nothing that happened before.

So a party that resumes after a crash, or answers a repeated message, draws the same numbers again.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """A generator for this place in a run, such as ``generator(seed, "gamma", client)``."""
    return np.random.default_rng(derived_seed(seed, *path))


def shared_secret(seed: int) -> int:
    """The clients' secret where one process or simulation holds them all: equal rows then get equal distances."""
    return derived_seed(seed, "clients")


def derived_seed(seed: int, *path: str | int) -> int:
    """A 63-bit seed for this place in a run; different paths give unrelated seeds."""
    digest = hashlib.blake2b(json.dumps([seed, *path]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
