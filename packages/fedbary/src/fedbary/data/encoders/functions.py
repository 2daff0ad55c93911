"""A function of the user's own as an encoder: known by what it makes of public examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbary.data.encoders.encoder import CellKind
from fedbary.data.encoders.probe import alike, fingerprint, probe
from fedbary.errors import DataError, SettingsError

# More than rounding on any device: dropout, or batch statistics.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Function:
    """A function from a list of images (of Pillow) or texts to one row of numbers for each.

    It is run again every time: nothing tells whether it is still the function that filled a cache.
    """

    function: Callable[[Any], Any]
    kind: CellKind
    width: int
    digest: str
    name: str = "function"
    batch: int = 32
    separate: bool = False
    costly: bool = False

    def encode(self, batch: Sequence[Any]) -> npt.NDArray[Any]:
        """What the function makes of them."""
        return _called(self.function, list(batch), self.kind)


def function_encoder(function: Callable[[Any], Any], kind: CellKind) -> Function:
    """Try a function on public examples: each row must be made of its own cell, whatever else is in the batch.

    A function that has a ``digest`` (text) of its own, such as that of its weights, is known by it.

    Examples
    --------
    >>> function_encoder(lambda texts: [[len(text), text.count(" ")] for text in texts], "text").width
    2
    """
    examples = probe(kind)
    try:
        alone = np.concatenate([_called(function, [example], kind) for example in examples])
        together = _called(function, examples, kind)
    except DataError as error:
        raise SettingsError(error.code, **error.note.facts) from error.__cause__
    if not np.isfinite(alone).all():
        raise SettingsError("encoders.no-numbers", kind=kind)
    if together.shape != alone.shape or not alike(together, alone, _TOLERANCE):
        raise SettingsError("encoders.depends-on-batch")
    own = getattr(function, "digest", None)
    return Function(function, kind, alone.shape[1], own if isinstance(own, str) and own else fingerprint(alone))


def _called(function: Callable[[Any], Any], cells: list[Any], kind: CellKind) -> npt.NDArray[Any]:
    try:
        rows = _as_array(function(cells))
    except DataError:
        raise
    except Exception as error:  # the user's code may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError("encoders.function-failed", kind=kind, why=why) from error
    if rows.ndim < 2 or len(rows) != len(cells) or rows.dtype.kind not in "biuf" or rows.size == 0:
        raise DataError("encoders.function-shape", kind=kind, cells=len(cells), shape=str(rows.shape))
    return rows.reshape(len(rows), -1)


def _as_array(rows: Any) -> npt.NDArray[Any]:
    """Also of a tensor that is on another device or is part of a training."""
    for step in ("detach", "cpu"):
        if hasattr(rows, step):
            rows = getattr(rows, step)()
    if str(getattr(rows, "dtype", "")) in ("torch.bfloat16", "torch.float16"):
        rows = rows.float()
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") and hasattr(rows, "nnz") else rows)
