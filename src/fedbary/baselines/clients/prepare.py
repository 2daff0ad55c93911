"""From tables to a `Setting`: train once with all clients, keep the log, and offer to evaluate and to train again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.baselines.clients.setting import Floats, Setting
from fedbary.errors import DataError
from fedbary.training import Evaluator, FedAvg, Federation, Logistic, Model, TrainingLog, run, train_coalitions


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
    >>> from fedbary.baselines.clients import METHODS, prepare
    >>> from fedbary.training import Federation
    >>> X, y = [[-1.0], [1.0]], [0, 1]
    >>> federation = Federation.from_arrays({"ann": (X, y), "bob": (X, y)}, (X, y))
    >>> METHODS["loo"].compute(prepare(federation).setting).values
    array([0., 0.])
    """
    model, training = model or Logistic(), training or FedAvg(seed=seed)
    if log is None:
        tell("training with all clients")
        log = run(model, federation, training)
    elif tuple(log.names) != federation.names:
        raise DataError(
            f"The training log is of the clients {', '.join(log.names)}, not of {', '.join(federation.names)}: give "
            "the log of these clients, in this order."
        )
    evaluator = Evaluator.on_test(model, federation, dtype=training.dtype, threads=threads)
    if evaluator.size != log.size:
        raise DataError(
            f"The training log's models have {log.size} weights, the chosen model {evaluator.size}: name the model "
            "that was trained."
        )

    def retrain(coalitions: NDArray[np.bool_]) -> Floats:
        def count(done: int, total: int) -> None:
            tell(f"training {len(coalitions)} coalitions, {done:,} of {total:,} local trainings")

        return np.asarray(
            train_coalitions(model, federation, coalitions, training, progress=count, threads=threads), dtype=np.float64
        )

    def evaluate_own(client: int, weights: Floats) -> Floats:
        rows = federation.clients[client]
        own = Evaluator(model, rows, len(federation.classes), dtype=training.dtype, threads=threads)
        return own.accuracy(weights)

    setting = Setting(
        log,
        evaluator.accuracy,
        retrain,
        evaluate_own,
        seed=seed,
        max_evaluations=max_evaluations,
        max_seconds=max_seconds,
    )
    return Prepared(setting, federation, model, training)
