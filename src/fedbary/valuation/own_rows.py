"""A client's own rows help at home: class means of its rows beside the model that the server sent.

Nothing of it leaves the client, and no p-value uses it: the server's clean rows, which calibrate these, are not here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.bad_rows import label_noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows of the whole table's mean that each class mean is shrunk by.
_PSEUDO_ROWS = 2.0
_WEIGHTS = np.array([0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0])
_LEAST_NOISE = 0.02


def blended(log_probabilities: Floats, whitened: Floats, codes: Integers) -> Floats:
    """Log p(c|x) of the received model and of the client's own class means, the latter weighted by cross-validation.

    ``whitened`` are the client's features in the received metric; ``codes`` are all known classes. Own class means
    judge a row without itself (leave-one-out, in closed form). Their weight is the one at which the labels are
    likeliest, given that some are wrong; it stays 0 unless that gains more than its standard error.
    """
    from scipy.special import log_softmax

    rows, classes = np.arange(len(codes)), log_probabilities.shape[1]
    if len(codes) < 2 or classes < 2:
        return log_probabilities
    share = max(label_noise(np.exp(log_probabilities[rows, codes]), classes).share, _LEAST_NOISE)
    own = _own_potentials(whitened, codes, classes)
    before = _loss(log_probabilities, codes, share)
    tried = [log_softmax(log_probabilities + weight * own, axis=1) for weight in _WEIGHTS]
    gains = [before - _loss(logs, codes, share) for logs in tried]
    best = int(np.argmax([gain.mean() for gain in gains]))
    enough = gains[best].std() / np.sqrt(len(codes))
    return tried[best] if gains[best].mean() > enough else log_probabilities


def _own_potentials(whitened: Floats, codes: Integers, classes: int) -> Floats:
    """−½‖x − m_c‖² to the shrunk mean of every class, that of a row's own class without the row."""
    rows = np.arange(len(codes))
    counts = np.bincount(codes, minlength=classes).astype(float)
    sums = np.zeros((classes, whitened.shape[1]))
    np.add.at(sums, codes, whitened)
    prior = _PSEUDO_ROWS * whitened.mean(axis=0)
    means = (sums + prior) / (counts[:, None] + _PSEUDO_ROWS)
    lengths = (whitened**2).sum(axis=1)
    costs = lengths[:, None] - 2.0 * whitened @ means.T + (means**2).sum(axis=1)
    without = (sums[codes] - whitened + prior) / (counts[codes][:, None] - 1.0 + _PSEUDO_ROWS)
    costs[rows, codes] = ((whitened - without) ** 2).sum(axis=1)
    return np.asarray(-0.5 * costs)


def _loss(log_probabilities: Floats, codes: Integers, noise: float) -> Floats:
    """−log of each label's likelihood if a share of labels was replaced at random."""
    right = np.exp(log_probabilities[np.arange(len(codes)), codes])
    wrong = (1.0 - right) / (log_probabilities.shape[1] - 1)
    return np.asarray(-np.log(np.maximum((1.0 - noise) * right + noise * wrong, 1e-300)))
