"""Logistic regression on the validation rows: what a server could do that sent its whole classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary.space.options import Space
from fedbary.space.schema import Schema
from fedbary.valuation.rows import row_frame
from fedbary_lab.baselines.classifiers import class_schema, fitted

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

STRENGTHS = 10.0 ** np.arange(-4, 2)
FOLDS = 5
# −log of the smallest normal double: the score of a class that the classifier has never seen.
IMPOSSIBLE = float(-np.log(np.finfo(float).tiny))
_ITERATIONS = 300


def logistic_values(table: Table, reference: Table, *, space: Space | None = None, seed: int = 0) -> pd.DataFrame:
    """Value each row by log p(y | x) under a logistic regression fitted on the reference.

    The regularisation C is chosen among 10⁻⁴ … 10 by 5-fold cross-validated log-loss.

    Parameters
    ----------
    table, reference : Table
        The rows to value, and the validation rows.
    space : Space, optional
        How features are scaled; all of them are kept unless it says otherwise.
    seed : int
        Which rows form a fold.

    Returns
    -------
    DataFrame
        ``value``, ``label_score`` = −log p(y | x) = −value and ``suggested_label``, the most probable other
        class. A class that the reference lacks has the label score 708, more than any other has.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary_lab.baselines import logistic_values
    >>> digits = fb.datasets.load("digits")
    >>> spoilt, mask = fb.corruptions.flip_labels(digits.test, 0.1, seed=0)
    >>> rows = logistic_values(spoilt, digits.train)
    >>> rows["value"].to_numpy()[mask].mean().round(), rows["value"].to_numpy()[~mask].mean().round(1)
    (np.float64(-12.0), np.float64(-0.1))
    """
    return Classifier.fit(reference, space=space, seed=seed).values(table)


@dataclass(frozen=True, eq=False)
class Classifier:
    """A logistic regression that has seen the reference, ready to value any number of tables."""

    schema: Schema
    classes: NDArray[np.str_]
    model: Any

    @classmethod
    def fit(cls, reference: Table, *, space: Space | None = None, seed: int = 0) -> Classifier:
        """Choose C by cross-validation, then fit on all rows."""
        classes, codes = np.unique(class_names(reference.labels), return_inverse=True)
        if len(classes) < 2:
            raise DataError("research.reference-of-one-class", name=str(classes[0]))
        schema = class_schema(reference, space)
        X = features(reference, schema)
        return cls(schema, classes, _regression(X, codes, cross_validate(X, codes, seed=seed).strength))

    def values(self, table: Table) -> pd.DataFrame:
        """Row values as `logistic_values` describes them."""
        log_p = log_probabilities(self.model, features(table, self.schema), len(self.classes))
        score, suggested = label_scores(class_names(table.labels), self.classes, log_p)
        return row_frame(table.row_names, -score, label_score=score, suggested_label=suggested)


@dataclass(frozen=True, eq=False)
class CrossValidated:
    """The C with the least log-loss, and the log-probabilities of each row from folds without it."""

    strength: float
    log_probabilities: Floats


def cross_validate(X: Floats, codes: NDArray[np.intp], *, seed: int = 0) -> CrossValidated:
    """Try ever weaker regularisation, and stop when the log-loss rises: it has one minimum in C in practice."""
    classes, fold = int(codes.max()) + 1, _stratified_folds(codes, seed)
    models: list[Any] = [None] * FOLDS
    best, least = None, np.inf
    for strength in STRENGTHS:
        log_p = np.empty((len(X), classes))
        for number in range(FOLDS):
            out = fold == number
            models[number] = _regression(X[~out], codes[~out], strength, models[number])
            log_p[out] = log_probabilities(models[number], X[out], classes)
        loss = -float(log_p[np.arange(len(X)), codes].mean())
        if loss >= least:
            break
        best, least = CrossValidated(float(strength), log_p), loss
    if best is None:
        raise DataError("research.log-loss-not-finite")
    return best


def log_probabilities(model: Any, X: Floats, classes: int) -> Floats:
    """Log-probability of every class; one that the model has never seen gets the least there is."""
    from scipy.special import log_softmax

    log_p = np.full((len(X), classes), -IMPOSSIBLE)
    if len(model.classes_) == 1:
        log_p[:, model.classes_] = 0.0
        return log_p
    scores = X @ model.coef_.T + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    log_p[:, model.classes_] = np.maximum(log_softmax(scores, axis=1), -IMPOSSIBLE)
    return log_p


def label_scores(names: NDArray[np.str_], known: NDArray[np.str_], log_p: Floats) -> tuple[Floats, NDArray[np.str_]]:
    """−log p of each row's own label, and the most probable other class."""
    place = np.searchsorted(known, names)
    place[place == len(known)] = 0
    seen = np.flatnonzero(known[place] == names)
    score = np.full(len(names), IMPOSSIBLE)
    score[seen] = -log_p[seen, place[seen]]
    others = log_p.copy()
    others[seen, place[seen]] = -np.inf
    return score, known[others.argmax(axis=1)]


def _regression(X: Floats, codes: NDArray[np.intp], strength: float, previous: Any = None) -> Any:
    """A logistic regression with this C, started from the one before."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = previous or LogisticRegression(max_iter=_ITERATIONS, warm_start=True)
    if isinstance(model, LogisticRegression):
        model.set_params(C=float(strength))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the log-loss judges the fit, however far it got
        return fitted(model, X, codes)


def _stratified_folds(codes: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Number of each row's fold; every class is spread over them, however few rows it has."""
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    fold = np.empty(len(codes), dtype=np.intp)
    fold[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(len(codes)) % FOLDS
    return fold
