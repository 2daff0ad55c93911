"""What joint probabilities say of labels: how surprising each is, and how likely every share of wrong ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Shares of wrong labels at which a client's likelihood is told.
SHARES: Floats = np.concatenate([np.linspace(0.0, 0.1, 41), np.linspace(0.11, 0.97, 44)])
_LEAST = 1e-12
_ROUNDING = 1e-9
# Rows whose likelihoods are computed at once.
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class JudgedLabels:
    """Of each row: p(y|x) of its label, the same if labels were wrong, its surprise −log v, and the best other class.

    v = Σ_c p_c·[p_c ≤ p_y] is the chance that a right label of this row would surprise as much. ``seen`` is the mean
    chance that a wrong label is not the one that the row has anyway. NaN where the class is not known.
    """

    right: Floats
    wrong: Floats
    surprise: Floats
    other: Integers
    seen: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows of which something is said."""
        return np.isfinite(self.right)


def judged_labels(p: Floats, codes: Integers) -> JudgedLabels:
    """Judge labels by probabilities (n, K); of a code of −1 nothing is said.

    A wrong label has the probabilities u: half of it any class alike, half of it by what the row looks like besides its
    top class, as labels are replaced at random *and* confused with the next class. Of two classes there is no other.
    """
    rows, classes = p.shape
    own, known = np.arange(rows), codes >= 0
    label = np.maximum(codes, 0)
    right = np.maximum(p[own, label], _LEAST)
    others = p.copy()
    others[own, p.argmax(axis=1)] = 0.0
    others /= np.maximum(others.sum(axis=1, keepdims=True), _LEAST)
    wrong = np.full(p.shape, 1.0 / classes) if classes == 2 else 0.5 / classes + 0.5 * others
    v = (p * (p <= right[:, None] * (1.0 + _ROUNDING))).sum(axis=1)
    without = p.copy()
    without[own[known], label[known]] = -1.0
    nothing = np.where(known, 0.0, np.nan)
    return JudgedLabels(
        right + nothing,
        wrong[own, label] + nothing,
        -np.log(np.clip(v, _LEAST, 1.0)) + nothing,
        without.argmax(axis=1),
        float(1.0 - (p * wrong).sum(axis=1).mean()),
    )


def share_likelihood(right: Floats, wrong: Floats) -> Floats:
    """Log-likelihood of each of `SHARES`, Σ_i log[(1 − e)·right_i + e·wrong_i], less the highest."""
    found = np.zeros(len(SHARES))
    for start in range(0, len(right), _BLOCK):
        p, u = right[start : start + _BLOCK], wrong[start : start + _BLOCK]
        found += np.log(p + SHARES[:, None] * (u - p)).sum(axis=1)
    return np.asarray(found - found.max())
