"""How good many models are on one set of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.errors import SettingsError
from fedbary_lab.training.backend import Precision, in_parallel, workers
from fedbary_lab.training.federation import Rows
from fedbary_lab.training.flat_model import FlatModel, as_tensors
from fedbary_lab.training.models import Model

if TYPE_CHECKING:
    import torch

Doubles = NDArray[np.float64]

# Rows that are scored at once, so that their activations stay in the cache.
_ROWS_AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class Evaluator:
    """Accuracy of weight vectors on fixed rows, many vectors at once.

    Parameters
    ----------
    model : model
        What the vectors are weights of, as given to `run`.
    rows : Rows
        The rows to judge by, such as a federation's test rows.
    classes : int
        Number of classes.
    dtype : {"float32", "float64"}
        Precision of the scores.
    threads : int, optional
        Threads that share the vectors; by default as many as there are cores.

    Examples
    --------
    >>> from fedbary_lab.training.models import Logistic
    >>> evaluator = Evaluator(Logistic(), Rows([[-1.0], [2.0]], [0, 1]), classes=2)
    >>> weights = [[-1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]
    >>> evaluator.accuracy(weights)
    array([1. , 0. , 0.5])
    """

    model: Model
    rows: Rows
    classes: int
    dtype: Precision = "float32"
    threads: int | None = None
    _flat: FlatModel = field(init=False, repr=False)
    _tensors: tuple[torch.Tensor, torch.Tensor] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rows.codes.max() >= self.classes:
            raise SettingsError(
                "research.class-code-too-large", code=int(self.rows.codes.max()), classes=int(self.classes)
            )
        flat = FlatModel.of(self.model, self.rows.features.shape[1], self.classes, dtype=self.dtype)
        object.__setattr__(self, "_flat", flat)
        object.__setattr__(self, "_tensors", as_tensors(self.rows, self.dtype))

    @property
    def size(self) -> int:
        """P, the number of weights."""
        return self._flat.size

    def accuracy(self, weights: ArrayLike) -> Doubles:
        """Share of the rows whose class has the highest score, for each of the vectors (B, P)."""
        import torch

        vectors = self._checked(weights)
        hits = np.zeros(len(vectors))
        features, codes = self._tensors

        def judge(blocks: list[slice]) -> None:
            flat = self._flat if pool == 1 else self._flat.twin()
            with torch.no_grad():
                for block in blocks:
                    for start in range(0, len(codes), _ROWS_AT_A_TIME):
                        rows = slice(start, start + _ROWS_AT_A_TIME)
                        scores = flat.logits(vectors[block], features[rows])
                        hits[block] += (scores.argmax(dim=2) == codes[rows]).sum(dim=1).numpy()

        blocks = list(self._flat.blocks(vectors, min(_ROWS_AT_A_TIME, len(codes))))
        pool = min(workers(self.threads), len(blocks))
        in_parallel(judge, [blocks[start::pool] for start in range(pool)], pool)
        return hits / len(codes)

    def _checked(self, weights: ArrayLike) -> torch.Tensor:
        import torch

        vectors = np.atleast_2d(np.asarray(weights))
        if vectors.ndim != 2 or vectors.shape[1] != self.size or vectors.dtype.kind not in "iuf":
            raise SettingsError(
                "research.weights-shape", shape=str(np.shape(weights)), dtype=str(vectors.dtype), size=int(self.size)
            )
        if not np.isfinite(vectors).all():
            raise SettingsError("research.weights-not-finite")
        return torch.tensor(vectors, dtype=self._flat.initial.dtype)
