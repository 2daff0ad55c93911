"""What a method that values clients may use: a logged training run, and ways to evaluate and to train again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.games import Estimate, Game
from fedbary.valuation.clients import ClientScores
from fedbary_lab.training.training_log import TrainingLog

Floats = NDArray[np.float64]
Evaluate = Callable[[Floats], Floats]

_NUMBERS_AT_A_TIME = 2**25


@dataclass(frozen=True, eq=False)
class Setting:
    """One federation as the methods see it.

    Parameters
    ----------
    log : TrainingLog
        A FedAvg run of all clients, from this package or from the user's own federation.
    evaluate : callable
        Weight vectors (B × parameters) → B utilities, usually accuracies on the server's rows.
    retrain : callable, optional
        Coalitions (B × clients, boolean) → final weight vectors. exactFed, LOO and DataSV need it.
    evaluate_own : callable, optional
        (client, weight vectors) → accuracies on that client's own rows. FedCE needs it.
    max_evaluations, max_seconds : optional
        A budget for each method, after which it returns the best estimate so far.
    """

    log: TrainingLog
    evaluate: Evaluate
    retrain: Callable[[NDArray[np.bool_]], Floats] | None = None
    evaluate_own: Callable[[int, Floats], Floats] | None = None
    seed: int = 0
    max_evaluations: int | None = None
    max_seconds: float | None = None

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients' names."""
        return tuple(self.log.names)


@dataclass
class Budget:
    """What is left of a method's budget while it plays several games."""

    evaluations: int | None
    seconds: float | None
    started: float = field(default_factory=time.perf_counter)
    spent: int = 0

    @classmethod
    def of(cls, setting: Setting) -> Budget:
        """A fresh budget."""
        return cls(setting.max_evaluations, setting.max_seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since the method began."""
        return time.perf_counter() - self.started

    @property
    def empty(self) -> bool:
        """Whether nothing is left for another game."""
        return not self.affords(1)

    def affords(self, evaluations: int) -> bool:
        """Whether so many more evaluations may be made."""
        return (self.evaluations is None or self.spent + evaluations <= self.evaluations) and (
            self.seconds is None or self.elapsed < self.seconds
        )

    def game(self, players: Sequence[str], utility: Callable[[NDArray[np.bool_]], Floats]) -> Game:
        """A game that may use what is left."""
        return Game(
            players,
            utility,
            max_evaluations=None if self.evaluations is None else self.evaluations - self.spent,
            max_seconds=None if self.seconds is None else max(self.seconds - self.elapsed, 1e-3),
        )


def in_blocks(utility: Callable[[NDArray[np.bool_]], Floats], size: int) -> Callable[[NDArray[np.bool_]], Floats]:
    """The same utility, a few hundred megabytes of weight vectors of this ``size`` at a time."""
    most = max(1, _NUMBERS_AT_A_TIME // size)

    def parts(coalitions: NDArray[np.bool_]) -> Floats:
        return np.concatenate([utility(coalitions[first : first + most]) for first in range(0, len(coalitions), most)])

    return parts


def scores_of(method: str, setting: Setting, estimate: Estimate, budget: Budget) -> ClientScores:
    """The estimate of one game over all clients as scores."""
    return ClientScores(
        method,
        setting.clients,
        estimate.values,
        estimate.standard_errors,
        evaluations=budget.spent,
        seconds=budget.elapsed,
        converged=estimate.converged,
        notes=estimate.notes,
    )


def need(what: object, method: str, argument: str) -> None:
    """Refuse a method that was not given what it needs."""
    if what is None:
        raise SettingsError("research.method-lacks-argument", method=method, argument=argument)
