"""Federated averaging: one run with its log, or a whole batch of coalitions at once."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedbary.errors import SettingsError
from fedbary_lab.training.backend import in_parallel, require_torch, workers
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation
from fedbary_lab.training.flat_model import FlatModel, as_tensors
from fedbary_lab.training.local_training import train_locally
from fedbary_lab.training.models import Model
from fedbary_lab.training.training_log import Round, TrainingLog

if TYPE_CHECKING:
    import torch

    from fedbary_lab.training.local_training import Batch

Progress = Callable[[int, int], None]
Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Weight = TypeVar("Weight", np.float32, np.float64)

# Bytes of one chunk's vectors: the global models, their sums, the local ones and what those grow from.
_CHUNK_BYTES = 2**29
_COPIES = 5
# First word of the seed that draws clients; 0 and 1 belong to the local training.
_CLIENTS = 2


def run(
    model: Model,
    federation: Federation,
    settings: FedAvg | None = None,
    *,
    weights: Sequence[int] | None = None,
    threads: int | None = None,
) -> TrainingLog:
    """Train once with all clients, and log every local model.

    Parameters
    ----------
    model : model
        `Logistic`, `MLP`, `CNN`, a function ``(width, classes)`` that makes a `torch.nn.Module`, or a module, whose
        weights are then θ⁰. It gets flat rows and gives one score per class.
    federation : Federation
        The clients and their rows; the test rows are not looked at.
    settings : FedAvg, optional
        How to train.
    weights : sequence of int, optional
        How much each client counts in the average, instead of its number of rows; only ratios matter.
    threads : int, optional
        Threads that share the clients of a round; by default as many as there are cores.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.training.fedavg import run
    >>> from fedbary_lab.training.federation import Federation
    >>> from fedbary_lab.training.models import Logistic
    >>> digits = fb.datasets.load("digits")
    >>> federation = Federation.from_tables(fb.partitions.by_size(digits.train, [300, 600]).clients, digits.test)
    >>> log = run(Logistic(), federation)
    >>> len(log.rounds), log.rounds[0].models.shape
    (10, (2, 650))
    """
    require_torch()
    import torch

    settings = settings or FedAvg()
    flat, rows = _prepared(model, federation, settings)
    vector, everyone = flat.initial, np.ones((1, len(rows)), dtype=bool)
    counts = federation.counts if weights is None else np.asarray(weights, dtype=np.int64)
    pool = _pool(flat, threads)

    def train(start: torch.Tensor, turn: int, client: int) -> torch.Tensor:
        return train_locally(flat.twin(), start[None], rows[client], settings, turn=turn)[0]

    rounds = []
    for turn in range(settings.rounds):
        selected = np.flatnonzero(_selected(everyone, settings, turn)[0])
        models = torch.stack(in_parallel(partial(train, vector, turn), selected.tolist(), pool))
        shares = counts[selected] / counts[selected].sum()
        vector = torch.tensor(shares, dtype=models.dtype) @ models
        rounds.append(Round(selected, _checked(models.double().numpy(), settings)))
    return TrainingLog(federation.names, counts, flat.initial.numpy(), tuple(rounds), head=flat.head)


def train_coalitions(
    model: Model,
    federation: Federation,
    coalitions: ArrayLike,
    settings: FedAvg | None = None,
    *,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Floats:
    """Retrain from θ⁰ on each coalition of clients, all coalitions at once.

    In each round and for each client, all coalitions with that client train on the same mini-batches. The result is
    the same as one by one, up to rounding. Where ``settings.clients_per_round`` draws clients, the seed puts all
    clients of the federation into an order for each round, and each coalition takes the first of its own members:
    the coalition of all is `run`.

    Parameters
    ----------
    model, federation, settings
        As for `run`.
    coalitions : array of bool, shape (B, N)
        Which clients belong to each coalition.
    progress : callable, optional
        Called, from any thread but never from two at once, with the number of finished and of all local trainings.
    threads : int, optional
        Threads that share the coalitions; by default as many as there are cores.

    Returns
    -------
    array, shape (B, P)
        Final global weights. The empty coalition has θ⁰.

    Examples
    --------
    >>> from fedbary_lab.training.fedavg import train_coalitions
    >>> from fedbary_lab.training.fedavg_settings import FedAvg
    >>> from fedbary_lab.training.federation import Federation
    >>> from fedbary_lab.training.models import Logistic
    >>> X, y = [[-1.0], [1.0]], [0, 1]
    >>> federation = Federation.from_arrays({"ann": (X, y), "bob": (X, y)}, (X, y))
    >>> weights = train_coalitions(Logistic(), federation, [[True, False], [False, True], [True, True]])
    >>> weights.shape, np.allclose(weights[0], weights[1])
    ((3, 4), True)
    """
    settings = settings or FedAvg()
    members = _members(coalitions, len(federation.clients))
    flat, rows = _prepared(model, federation, settings)
    results = np.empty((len(members), flat.size), dtype=settings.dtype)
    pool = _pool(flat, threads)
    sizes = np.minimum(members.sum(axis=1), settings.clients_per_round or members.shape[1])
    total = int(sizes.sum()) * settings.rounds
    done, lock, stop = 0, threading.Lock(), threading.Event()

    def count(trained: int) -> None:
        nonlocal done
        with lock:
            if stop.is_set():
                raise CancelledError
            done += trained
            if progress is not None:
                progress(done, total)

    def train(part: slice) -> None:
        vectors = _train(flat.twin(), rows, members[part], settings, count=count)
        results[part] = _checked(vectors.numpy(), settings)

    try:
        in_parallel(train, _parts(len(members), results.itemsize * flat.size, pool), pool)
    finally:
        stop.set()
    return results


def _parts(count: int, vector_bytes: int, pool: int) -> list[slice]:
    """Parts that fit in memory; each takes every k-th coalition, so that all have much the same work."""
    fit = max(1, _CHUNK_BYTES // (_COPIES * vector_bytes * pool))
    parts = min(count, pool * math.ceil(count / (fit * pool)))
    return [slice(start, None, parts) for start in range(parts)]


def _train(
    flat: FlatModel,
    rows: list[Batch],
    members: Mask,
    settings: FedAvg,
    *,
    count: Callable[[int], None],
) -> torch.Tensor:
    """Global vectors of a chunk of coalitions after all rounds."""
    import torch

    counts = np.array([len(codes) for _, codes in rows])
    vectors = flat.initial.repeat(len(members), 1)
    for turn in range(settings.rounds):
        selected = _selected(members, settings, turn)
        shares = selected * counts / np.maximum(1, (selected * counts).sum(axis=1, keepdims=True))
        sums = torch.zeros_like(vectors)
        for client in range(len(rows)):
            here = torch.from_numpy(np.flatnonzero(selected[:, client]))
            if len(here):
                local = train_locally(flat, vectors[here], rows[client], settings, turn=turn)
                share = torch.from_numpy(shares[:, client])[here].to(local.dtype)
                sums.index_add_(0, here, local.mul_(share[:, None]))
                count(len(here))
        empty = torch.from_numpy(~selected.any(axis=1))
        sums[empty] = vectors[empty]
        vectors = sums
    return vectors


def _prepared(model: Model, federation: Federation, settings: FedAvg) -> tuple[FlatModel, list[Batch]]:
    """The model, and every client's rows as tensors of the asked precision."""
    flat = FlatModel.of(model, federation.width, len(federation.classes), seed=settings.seed, dtype=settings.dtype)
    return flat, [as_tensors(rows, settings.dtype) for rows in federation.clients]


def _pool(flat: FlatModel, threads: int | None) -> int:
    """Threads to use; only one where there is dropout, as all would draw from one stream of random numbers."""
    return 1 if flat.random else workers(threads)


def _selected(members: Mask, settings: FedAvg, turn: int) -> Mask:
    """Members that train in this round: all, or the first few in the round's random order of all clients."""
    if settings.clients_per_round is None:
        return members
    order = np.random.default_rng([_CLIENTS, settings.seed, turn]).permutation(members.shape[1])
    place = np.cumsum(members[:, order], axis=1)[:, np.argsort(order)]
    return np.asarray(members & (place <= settings.clients_per_round))


def _members(coalitions: ArrayLike, clients: int) -> Mask:
    members = np.asarray(coalitions)
    if members.dtype != np.bool_ or members.ndim != 2 or members.shape[1] != clients:
        raise SettingsError(
            "research.coalitions-shape", shape=str(members.shape), dtype=str(members.dtype), clients=int(clients)
        )
    return members


def _checked(weights: NDArray[Weight], settings: FedAvg) -> NDArray[Weight]:
    if not np.isfinite(weights).all():
        raise SettingsError("research.training-diverged", learning_rate=float(settings.learning_rate))
    return weights
