"""The competition of candidates: weights at which a client's labels are likeliest, and what they say of each label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows that decide; more would choose the same.
MOST_ROWS = 4000
_BOUNDS, _STEPS = (-6.0, 3.0), 60
# Beta prior of the share of wrong labels: e^½·(1 − e).
_PRIOR = (0.5, 1.0)
_LEAST, _ROUNDING = 1e-12, 1e-9


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


def own_weights(candidates: Floats, codes: Integers) -> Floats:
    """Weights w ≥ 0 that maximise Σ log[(1 − e)·p_w(y|x) + e/K], p_w = softmax(Σ_k w_k ℓ_k), with the share e.

    ``candidates`` (k, n, K) are log-probabilities. A constant weak pull takes log w to −log k: with few rows the
    candidates count alike.
    """
    from scipy.optimize import minimize

    count, rows, classes = candidates.shape
    if classes < 2 or not rows:
        return np.full(count, 1.0 / count)
    own = np.arange(rows)
    label = candidates[:, own, codes]

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, share = np.exp(parameters[:-1]), 1.0 / (1.0 + np.exp(-parameters[-1]))
        p = np.exp(log_softmax(np.tensordot(weights, candidates, 1), axis=1))
        right = p[own, codes]
        likely = (1.0 - share) * right + share / classes
        credit = (1.0 - share) * right / likely
        slope = -(credit * (label - (p * candidates).sum(axis=2))).sum(axis=1) * weights
        pull = parameters[:-1] + np.log(count)
        first, second = _PRIOR
        by_share = ((1.0 / classes - right) / likely).sum() * share * (1.0 - share)
        value = -np.log(likely).sum() - first * np.log(share) - second * np.log(1.0 - share) + 0.5 * (pull**2).sum()
        return float(value), np.append(slope + pull, -by_share - first * (1.0 - share) + second * share)

    start = np.append(np.full(count, -np.log(count)), -2.5)
    bounds = [_BOUNDS] * count + [(-9.0, 9.0)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS})
    return np.asarray(np.exp(found.x[:count]))


def with_others(said: Floats, usual: Floats, least: int) -> Floats:
    """What candidates (k, n, …) say, no row's farther from the usual, and from most rows, than that of ``least`` rows.

    The model is a server's choice, which may say nothing of all rows but one, or something of all but one: that one
    would decide the weights.
    """
    away = _capped(said - usual, least)
    middle = np.median(away, axis=1, keepdims=True)
    return np.asarray(usual + middle + _capped(away - middle, least))


def _capped(away: Floats, least: int) -> Floats:
    """Deviations (k, n, …) of which no row's is larger than that of ``least`` rows."""
    size = np.abs(away).reshape(*away.shape[:2], -1).max(axis=2)
    most = np.sort(size, axis=1)[:, -min(least, size.shape[1]), None]
    times = np.minimum(1.0, most / np.maximum(size, 1e-300))
    return np.asarray(away * times.reshape(*size.shape, *[1] * (away.ndim - 2)))


def coarse(weights: Floats) -> Floats:
    """In steps of a tenth, as finer digits of any fit are moved by every row."""
    return np.asarray(np.exp(np.round(np.log(weights), 1)))


def moved_or_not(weights: Floats) -> Floats:
    """A reference's own weights for clients that may lie elsewhere: each candidate and its moved one count alike."""
    found = np.array(weights, dtype=np.float64)
    for first in (0, 3):
        if first + 1 < len(found):
            found[first : first + 2] = found[first : first + 2].mean()
    return found


def joint(candidates: Floats, weights: Floats) -> Floats:
    """Probabilities (n, K) of classes by all candidates (k, n, K) together."""
    return np.asarray(np.exp(log_softmax(np.tensordot(weights, candidates, 1), axis=1)))
