"""A client's own rows help at home: class means of its rows beside the model that the server sent.

Nothing of it leaves the client, and no p-value uses it: the server's clean rows, which calibrate these, are not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY
from fedbary.data.spool import Spool
from fedbary.valuation.bad_rows import label_noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows of the whole table's mean that each class mean is shrunk by.
_PSEUDO_ROWS = 2.0
_WEIGHTS = np.array([0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0])
_LEAST_NOISE = 0.02


def blended(log_probabilities: Spool, whitened: Spool, codes: Integers) -> Iterator[Floats]:
    """Log p(c|x) of the received model and of the client's own class means, the latter weighted by cross-validation.

    ``whitened`` are the client's features in the received metric; rows whose code is negative have no known class, and
    stay as they are. Own class means judge a row without itself (leave-one-out, in closed form). Their weight is the
    one at which the labels are likeliest, given that some are wrong; it stays 0 unless that gains more than its
    standard error. Yields a part of the rows at a time, after going through all of them three times.
    """
    known = codes >= 0
    if known.sum() < 2 or log_probabilities.width < 2:
        return log_probabilities.parts()
    means = _OwnMeans.of(whitened, codes, log_probabilities.width)
    right = np.zeros(len(codes))
    for place, logs in log_probabilities.placed():
        right[place] = np.exp(_of_label(logs, codes[place]))
    noise = max(label_noise(right[known], log_probabilities.width).share, _LEAST_NOISE)
    own, sums, squares = Spool(log_probabilities.width), np.zeros(len(_WEIGHTS)), np.zeros(len(_WEIGHTS))
    for (place, logs), rows in zip(log_probabilities.placed(), whitened.parts(), strict=True):
        seen = known[place]
        potentials = np.zeros_like(logs)  # adds nothing to the rows of unknown classes
        some = rows if seen.all() else rows[seen]
        potentials[seen] = means.potentials(some.astype(np.float64), codes[place][seen])
        own.append(potentials)
        gains = _gains(logs[seen], potentials[seen], codes[place][seen], noise)
        sums += gains.sum(axis=1)
        squares += (gains**2).sum(axis=1)
    mean = sums / known.sum()
    best = int(np.argmax(mean))
    variance = max(float(squares[best] / known.sum() - mean[best] ** 2), 0.0)
    if mean[best] <= np.sqrt(variance / known.sum()):
        return log_probabilities.parts()
    return _weighted(log_probabilities, own, float(_WEIGHTS[best]))


@dataclass(frozen=True, eq=False)
class _OwnMeans:
    """Sums of the rows of every class and how many these are, and what all rows pull the means towards."""

    sums: Floats
    counts: Floats
    pull: Floats

    @classmethod
    def of(cls, whitened: Spool, codes: Integers, classes: int) -> _OwnMeans:
        from scipy.sparse import csr_array

        sums = np.zeros((classes, whitened.width))
        for place, rows in whitened.placed():
            known = np.flatnonzero(codes[place] >= 0)
            shape = (classes, len(rows))
            sums += csr_array((np.ones(len(known)), (codes[place][known], known)), shape=shape) @ rows
        counts = np.bincount(codes[codes >= 0], minlength=classes).astype(float)
        return cls(sums, counts, _PSEUDO_ROWS * sums.sum(axis=0) / counts.sum())

    def potentials(self, rows: Floats, codes: Integers) -> Floats:
        """−½‖x − m_c‖² to the shrunk mean m_c = M_c/n_c of every class, that of a row's own class without the row.

        There it is x − (M_c − x)/(n_c − 1) = (n_c·x − M_c)/(n_c − 1), so that all follows from ⟨x, M_c⟩ and ‖x‖².
        """
        sums, counts = self.sums + self.pull, self.counts + _PSEUDO_ROWS
        products, lengths = rows @ sums.T, np.einsum("ij,ij->i", rows, rows)
        squares = (sums**2).sum(axis=1)
        costs = lengths[:, None] - 2.0 * products / counts + squares / counts**2
        own = counts[codes]
        without = own**2 * lengths - 2.0 * own * products[np.arange(len(codes)), codes] + squares[codes]
        costs[np.arange(len(codes)), codes] = np.maximum(without, 0.0) / (own - 1.0) ** 2
        return np.asarray(-0.5 * costs)


def _weighted(log_probabilities: Spool, own: Spool, weight: float) -> Iterator[Floats]:
    for logs, potentials in zip(log_probabilities.parts(), own.parts(), strict=True):
        yield NUMPY.log_softmax(logs + weight * potentials)


def _gains(logs: Floats, own: Floats, codes: Integers, noise: float) -> Floats:
    """How much likelier each label becomes by each weight, one line per weight."""
    before = _loss(_of_label(logs, codes), logs.shape[1], noise)
    # Rows lie side by side, so that sums over few classes are sums of long vectors.
    by_class, potentials, rows = np.ascontiguousarray(logs.T), np.ascontiguousarray(own.T), np.arange(len(codes))
    gains = np.empty((len(_WEIGHTS), len(codes)))
    for place, weight in enumerate(_WEIGHTS):
        both = weight * potentials
        both += by_class
        both -= both.max(axis=0)
        label = both[codes, rows]
        np.exp(both, out=both)
        gains[place] = before - _loss(label - np.log(both.sum(axis=0)), logs.shape[1], noise)
    return gains


def _of_label(log_probabilities: Floats, codes: Integers) -> Floats:
    return np.asarray(log_probabilities[np.arange(len(codes)), codes])


def _loss(log_probabilities: Floats, classes: int, noise: float) -> Floats:
    """−log of each label's likelihood if a share of labels was replaced at random."""
    right = np.exp(log_probabilities)
    wrong = (1.0 - right) / (classes - 1)
    return np.asarray(-np.log(np.maximum((1.0 - noise) * right + noise * wrong, 1e-300)))
