"""From tables to a `Setting`: train once with all clients, keep the log, and offer to evaluate and to train again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import DataError
from fedbary_lab.baselines.clients.client_game import Floats, Setting
from fedbary_lab.training.evaluate import Evaluator
from fedbary_lab.training.fedavg import run, train_coalitions
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation, Rows
from fedbary_lab.training.models import Logistic, Model
from fedbary_lab.training.training_log import TrainingLog


@dataclass(frozen=True, eq=False)
class Prepared:
    """A trained federation, ready for every method."""

    setting: Setting
    federation: Federation
    model: Model
    training: FedAvg


def prepare(
    federation: Federation,
    *,
    model: Model | None = None,
    training: FedAvg | None = None,
    log: TrainingLog | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Prepared:
    """Train (unless a log is given) and bundle what the methods need; utilities are accuracies on the test rows.

    Examples
    --------
    >>> from fedbary_lab.baselines.clients import METHODS, prepare
    >>> from fedbary_lab.training.federation import Federation
    >>> X, y = [[-1.0], [1.0]], [0, 1]
    >>> federation = Federation.from_arrays({"ann": (X, y), "bob": (X, y)}, (X, y))
    >>> METHODS["loo"].compute(prepare(federation).setting).values
    array([0., 0.])
    """
    model, training = model or Logistic(), training or FedAvg(seed=seed)
    if log is None:
        tell("training with all clients")
        log = run(model, federation, training, threads=threads)
    else:
        _check_log(log, federation)

    def judge(rows: Rows) -> Evaluator:
        return Evaluator(model, rows, len(federation.classes), dtype=training.dtype, threads=threads)

    evaluator = judge(federation.test)
    if evaluator.size != log.size:
        raise DataError("research.log-of-another-model", logged=int(log.size), chosen=int(evaluator.size))

    def retrain(coalitions: NDArray[np.bool_]) -> Floats:
        def count(done: int, total: int) -> None:
            tell(f"training {len(coalitions)} coalitions, {done:,} of {total:,} local trainings")

        return np.asarray(
            train_coalitions(model, federation, coalitions, training, progress=count, threads=threads), dtype=np.float64
        )

    @cache
    def own(client: int) -> Evaluator:
        return judge(federation.clients[client])

    start = train_coalitions(model, federation, np.zeros((1, len(federation.names)), dtype=bool), training)[0]
    same_start = bool(np.allclose(start, log.initial, atol=1e-6))
    setting = Setting(
        log,
        evaluator.accuracy,
        retrain if same_start else None,  # coalitions must start from the log's θ⁰, which only its training knows
        lambda client, weights: own(client).accuracy(weights),
        seed=seed,
        max_evaluations=max_evaluations,
        max_seconds=max_seconds,
    )
    return Prepared(setting, federation, model, training)


def _check_log(log: TrainingLog, federation: Federation) -> None:
    if tuple(log.names) != federation.names:
        raise DataError("research.log-of-other-clients", logged=", ".join(log.names), given=", ".join(federation.names))
    if not np.array_equal(log.counts, federation.counts):
        raise DataError(
            "research.log-of-other-rows", logged=str(log.counts.tolist()), given=str(federation.counts.tolist())
        )
