"""The log of a federated run: θ⁰ and every local model, from which contributions are computed afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import DataError

Floats = NDArray[np.float64]


class Head(NamedTuple):
    """Where the last linear layer, one unit per class, lies in a vector of weights.

    Attributes
    ----------
    weight : int
        Place of its first weight; they stand class by class.
    classes, width : int
        Units of the layer, and weights of each.
    bias : int
        Place of its first bias, or −1 where it has none.

    Examples
    --------
    >>> Head(weight=0, classes=2, width=3, bias=6).rows(np.arange(8.0))
    array([[0., 1., 2., 6.],
           [3., 4., 5., 7.]])
    """

    weight: int
    classes: int
    width: int
    bias: int = -1

    def rows(self, vectors: Floats) -> Floats:
        """Weights (and bias) of each class, (…, classes, width [+ 1]), from vectors (…, P)."""
        block = vectors[..., self.weight : self.weight + self.classes * self.width]
        block = block.reshape(*vectors.shape[:-1], self.classes, self.width)
        if self.bias < 0:
            return block
        return np.concatenate([block, vectors[..., self.bias : self.bias + self.classes, None]], axis=-1)

    def fits(self, size: int) -> bool:
        """Whether the layer lies inside vectors of this size."""
        return (
            self.classes >= 1
            and self.width >= 1
            and 0 <= self.weight <= size - self.classes * self.width
            and -1 <= self.bias <= size - self.classes
        )


@dataclass(frozen=True, eq=False)
class Round:
    """One round: which clients trained, and the model each of them came back with.

    Parameters
    ----------
    selected : array of int, shape (k,)
        Positions of the clients among the log's names.
    models : array, shape (k, P)
        Their local models after the round, in the same order.

    Examples
    --------
    >>> Round([0, 2], np.zeros((2, 5))).models.shape
    (2, 5)
    """

    selected: NDArray[np.int64]
    models: Floats

    def __post_init__(self) -> None:
        selected, models = np.asarray(self.selected), _numbers(self.models)
        if selected.ndim != 1 or selected.dtype.kind not in "iu" or not len(selected):
            raise DataError("research.selected-not-positions", selected=repr(selected))
        if len(np.unique(selected)) < len(selected):
            raise DataError("research.selected-twice", selected=str(selected.tolist()))
        if models.ndim != 2 or len(models) != len(selected):
            raise DataError("research.models-shape", shape=str(models.shape), clients=len(selected))
        object.__setattr__(self, "selected", selected.astype(np.int64))
        object.__setattr__(self, "models", models)


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """What a federated run leaves behind; `run` writes one, and so can any other framework.

    Parameters
    ----------
    names : tuple of str
        Names of the clients.
    counts : array of int, shape (N,)
        Rows of each client; they weigh the average.
    initial : array, shape (P,)
        θ⁰, all weights as one vector.
    rounds : tuple of (selected, models)
        Of each round in order: the positions of the clients that trained, and the local models they came back with.
    head : (weight, classes, width, bias), optional
        Where the last layer's weights and biases begin (−1: no biases), its units, and the weights of each, for the
        methods that look at it class by class.

    Examples
    --------
    A log of one's own run, with two clients of 100 and 300 rows and a model of two weights:

    >>> import fedbary as fb
    >>> log = fb.TrainingLog(
    ...     names=("ann", "bob"),
    ...     counts=[100, 300],
    ...     initial=[0.0, 0.0],
    ...     rounds=[([0, 1], [[1.0, 0.0], [0.0, 1.0]]), ([1], [[0.5, 0.5]])],
    ... )
    >>> log.global_models
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> log.updates(1)
    array([[ 0.25, -0.25]])
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    initial: Floats
    rounds: tuple[Round, ...]
    head: Head | None = None

    def __post_init__(self) -> None:
        names, counts, initial = tuple(self.names), np.asarray(self.counts), _numbers(self.initial)
        rounds = tuple(entry if isinstance(entry, Round) else Round(*entry) for entry in self.rounds)
        if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise DataError("research.log-names", names=repr(names))
        if counts.shape != (len(names),) or counts.dtype.kind not in "iu" or (counts < 1).any():
            raise DataError("research.log-counts", counts=str(counts.tolist()), clients=len(names))
        if initial.ndim != 1 or not len(initial):
            raise DataError("research.initial-weights-shape", shape=str(initial.shape))
        if not rounds:
            raise DataError("research.log-without-rounds")
        for turn, entry in enumerate(rounds):
            if entry.selected.min() < 0 or entry.selected.max() >= len(names):
                raise DataError(
                    "research.round-selects-nobody",
                    round=int(turn),
                    selected=str(entry.selected.tolist()),
                    last=len(names) - 1,
                )
            if entry.models.shape[1] != len(initial):
                raise DataError(
                    "research.round-of-another-model",
                    round=int(turn),
                    size=int(entry.models.shape[1]),
                    initial=len(initial),
                )
        head = None if self.head is None else Head(*self.head)
        if head is not None and not head.fits(len(initial)):
            raise DataError("research.head-outside", head=str(head), size=len(initial))
        for field, value in (
            ("names", names),
            ("counts", counts.astype(np.int64)),
            ("initial", initial),
            ("rounds", rounds),
            ("head", head),
        ):
            object.__setattr__(self, field, value)

    @property
    def size(self) -> int:
        """P, the number of weights."""
        return len(self.initial)

    def shares(self, turn: int) -> Floats:
        """Weights w_i = n_i / Σ n_j of the clients selected in round ``turn`` (the first one is 0)."""
        counts = self.counts[self.rounds[turn].selected]
        return np.asarray(counts / counts.sum())

    @cached_property
    def global_models(self) -> Floats:
        """θ^t after each round, shape (rounds, P): the average of the local models, weighted by rows."""
        return np.stack([self.shares(turn) @ entry.models for turn, entry in enumerate(self.rounds)])

    @property
    def final(self) -> Floats:
        """The global model after the last round."""
        return np.asarray(self.global_models[-1])

    def before(self, turn: int) -> Floats:
        """The global model that the clients of round ``turn`` started from."""
        turn = range(len(self.rounds))[turn]
        return np.asarray(self.global_models[turn - 1] if turn else self.initial)

    def updates(self, turn: int) -> Floats:
        """Δ_i = θ_i − θ of the selected clients of round ``turn``, shape (k, P)."""
        return np.asarray(self.rounds[turn].models - self.before(turn))

    def save(self, path: str | Path) -> Path:
        """Write one ``.npz`` file."""
        from fedbary_lab.training.training_log_file import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TrainingLog:
        """Read what `save` wrote."""
        from fedbary_lab.training.training_log_file import load

        return load(path)


def _numbers(values: Any) -> Floats:
    """Finite numbers in double precision, in which averages and differences of models are taken."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("research.weights-not-numbers", why=str(error)) from error
    if not np.isfinite(array).all():
        raise DataError("research.log-not-finite")
    return array
