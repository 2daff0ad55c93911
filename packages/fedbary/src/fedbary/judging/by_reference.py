"""The reference's model at work on a client's rows: candidates 4 and 5."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.judging.candidates import OwnRows
from fedbary.judging.model import JudgingModel, ReferenceModel
from fedbary.judging.moving import Moved
from fedbary.judging.scoring import ScoringModel
from fedbary.judging.scoring.scorer import Scorer

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ByReference:
    """The reference's model on a client's rows, as they are and moved, with the client's class shares as prior."""

    def __init__(self, model: JudgingModel, own: OwnRows, rows: int, *, single: bool) -> None:
        assert model.reference is not None
        scoring = model.reference.scoring
        assert isinstance(scoring, ScoringModel)
        scoring.require_affordable(rows)
        self._scorer = Scorer(scoring.in_single() if single else scoring, rows)
        self._moved, self._others = moved_to(own, model.reference), model.others
        self._known = np.array([model.classes.index(name) for name in scoring.classes])
        self._prior = np.log(own.shares)
        self._before = scoring.log_prior

    def __call__(self, rows: Floats, by_others: list[Floats], near: Floats) -> list[Floats]:
        """Of classes that the reference does not know, the others say how likely they are."""
        found = []
        for points, base, says in ((rows, by_others[0], near), (self._moved(rows), by_others[1], np.ones(len(rows)))):
            values = points * self._others.scale + self._others.centre
            logs = self._scorer(values.astype(rows.dtype)) - self._before
            found.append(with_classes(says[:, None] * logs + self._prior[self._known], self._known, base))
        return found


def with_classes(logs: Floats, known: Integers, by_others: Floats) -> Floats:
    """Log-probabilities of all classes, from unnormalised ones of the ``known`` and from others' of all."""
    own = log_softmax(logs, axis=1)
    if own.shape[1] == by_others.shape[1]:
        return np.asarray(own[:, np.argsort(known)])
    found = np.array(by_others, dtype=own.dtype)
    left = 1.0 - np.delete(np.exp(by_others), known, axis=1).sum(axis=1)
    found[:, known] = own + np.log(np.maximum(left, 1e-12))[:, None]
    return found


def moved_to(own: OwnRows, reference: ReferenceModel) -> Moved:
    """To where a reference expects a client."""
    return Moved.of(own.mean, own.variance, own.stated, own.rows, means=reference.means, variances=reference.variances)
