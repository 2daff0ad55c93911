"""One federation trained once: exactFed, the same game judged by other test rows, and every method on its log."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.games import Game, exact_shapley
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.classifiers import fitted
from fedbary_lab.baselines.clients import METHODS, Setting, prepare
from fedbary_lab.training.evaluate import Evaluator
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# The regression that pools the rows: as strong as cross-validation chooses for these data sets, stopped early.
_POOLED = dict(C=0.01, max_iter=30, tol=1e-3)


# Where every client trains in every round these are MR, to the last digit.
_SAME_AS_MR = ("fedshapley", "comfedsv")


def draw_seed(cell: DataclassInstance) -> int:
    """The seed of what methods sample in a cell, such as permutations: another one for each draw of each case.

    With the same permutations in all cases, errors that are chance would look like a trait of the method.
    """
    content = json.dumps([type(cell).__name__, asdict(cell)], sort_keys=True)
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:4])


class Trained:
    """Clients, and two disjoint sets of test rows: the first judges all methods, the other the ceiling.

    ``seed`` is that of the training, ``sampling`` that of what methods sample.
    """

    def __init__(
        self, tables: Mapping[str, Table], test: Table, other: Table, *, rounds: int, seed: int, sampling: int
    ) -> None:
        training = FedAvg(rounds=rounds, seed=seed)
        self._prepared = prepare(Federation.from_tables(tables, test), training=training, seed=sampling, threads=1)
        self._weights = _WeightCache(self._prepared.setting)
        # As a client of the same federation the other rows are scaled like those that the models were trained on.
        self._other = Federation.from_tables({"other": other}, test).clients[0]

    @cached_property
    def exactfed(self) -> ClientScores:
        """Shapley value of FedAvg retrained on every coalition."""
        return METHODS["exactfed"].compute(replace(self._prepared.setting, retrain=self._weights.train))

    @cached_property
    def ceiling(self) -> ClientScores:
        """The same trained coalitions, judged by the other test rows."""
        assert self.exactfed.converged  # which has trained them
        federation = self._prepared.federation
        judge = Evaluator(self._prepared.model, self._other, len(federation.classes), threads=1)
        judged = replace(self._prepared.setting, evaluate=judge.accuracy, retrain=self._weights.cached)
        return METHODS["exactfed"].compute(judged)

    def others(self, *without: str) -> dict[str, ClientScores]:
        """Every method but exactFed, and but those that are MR where all clients train in all rounds, as here."""
        left_out = {"exactfed", *_SAME_AS_MR, *without}
        return {name: METHODS[name].compute(self._prepared.setting) for name in METHODS if name not in left_out}

    def pooled(self) -> tuple[ClientScores, ClientScores]:
        """Shapley value of a logistic regression fitted to a coalition's rows in one place; and its ceiling."""
        federation = self._prepared.federation
        started = perf_counter()
        fitted = _Pooled(federation)
        found = [
            exact_shapley(Game(federation.names, fitted.accuracy_on(rows.features, rows.codes)))
            for rows in (federation.test, self._other)
        ]
        seconds = perf_counter() - started
        first, second = (
            ClientScores(name, federation.names, e.values, e.standard_errors, e.evaluations, seconds)
            for name, e in zip(("pooled", "pooled ceiling"), found, strict=True)
        )
        return first, second


class _WeightCache:
    """Trains coalitions, and keeps their weights for another test set."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._known: dict[bytes, Floats] = {}

    def train(self, coalitions: Bools) -> Floats:
        assert self._setting.retrain is not None
        found = self._setting.retrain(coalitions)
        self._known |= {mask.tobytes(): weights for mask, weights in zip(coalitions, found, strict=True)}
        return found

    def cached(self, coalitions: Bools) -> Floats:
        """Weights of coalitions that were trained before."""
        return np.stack([self._known[mask.tobytes()] for mask in coalitions])


class _Pooled:
    """Logistic regressions on the rows of coalitions, each fitted once."""

    def __init__(self, federation: Federation) -> None:
        self._features = np.vstack([rows.features for rows in federation.clients]).astype(np.float32)
        self._codes = np.concatenate([rows.codes for rows in federation.clients])
        self._owner = np.repeat(np.arange(len(federation.clients)), [len(rows) for rows in federation.clients])
        self._classes = len(federation.classes)
        self._known: dict[bytes, Callable[[NDArray[Any]], NDArray[np.int64]]] = {}

    def accuracy_on(self, features: NDArray[Any], codes: NDArray[np.int64]) -> Callable[[Bools], Floats]:
        """The utility that these rows judge; without any client it is chance."""

        def utility(coalitions: Bools) -> Floats:
            return np.array(
                [(self._fit(row)(features) == codes).mean() if row.any() else 1.0 / self._classes for row in coalitions]
            )

        return utility

    def _fit(self, coalition: Bools) -> Callable[[NDArray[Any]], NDArray[np.int64]]:
        key = coalition.tobytes()
        if key not in self._known:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.linear_model import LogisticRegression

            rows = coalition[self._owner]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = fitted(LogisticRegression(**_POOLED), self._features[rows], self._codes[rows])
            self._known[key] = model.predict
        return self._known[key]
