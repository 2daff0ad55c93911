"""`Encoder`: what turns images or texts into rows of numbers, each cell by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

CellKind: TypeAlias = Literal["image", "text"]
Block: TypeAlias = npt.NDArray[np.float32]


class Encoder(Protocol):
    """A fixed function from a cell to numbers, with a name and a digest by which owners know that theirs is the same.

    Attributes
    ----------
    name : str
        What stands in a schema, with every setting and without any path of this machine.
    digest : str
        Of everything that moves an output: settings, weights, and the version of the algorithm.
    width : int
        Numbers for each cell.
    batch : int
        Cells that are encoded at once.
    separate : bool
        Whether a cell's numbers are the same to the last bit, whatever else is in its batch.
    costly : bool
        Whether a cell is worth keeping in the cache.
    """

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def separate(self) -> bool: ...
    @property
    def costly(self) -> bool: ...

    def encode(self, batch: Sequence[Any]) -> npt.NDArray[Any]:
        """One row of ``width`` numbers for each image (of Pillow) or text."""
        ...


def digest_of(*parts: object) -> str:
    """A short digest of settings and of contents (bytes).

    Examples
    --------
    >>> digest_of("hashing", 512) == digest_of("hashing", 512) != digest_of("hashing", 256)
    True
    """
    total = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()[:32]
