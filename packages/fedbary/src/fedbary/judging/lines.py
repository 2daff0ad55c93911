"""Labels that are numbers: candidates are lines of others, others moved, a client's own rows, and a reference.

All numbers are standardised; the label is the last coordinate of the discriminant. `Line` is the reference's, fitted by
the server so that clients can doubt labels at home.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from fedbary.errors import ProtocolError
from fedbary.forms import Numbers, arrays_of
from fedbary.judging.competition import JudgedLabels, coarse, with_others
from fedbary.judging.discriminant import Discriminant

Floats = NDArray[np.float64]

# Rows of the others that a client's own line is pooled with, and rows of unit variance that keep any line steady.
_KAPPA, _RIDGE = 10.0, 1.0
# Residuals have longer tails than Gaussian ones.
_FREEDOM = 5.0
# A client's residuals may be so many times as wide as usual; wider ones are wrong labels.
_WIDER = 1.2
_MAD = 1.4826
_LEAST = 1e-9
_FOLDS = 5
_PENALTIES = 10.0 ** np.arange(-3, 4)
# What a message has of a reference's line.
LINE = {"line.coefficients": Numbers(("features of rows",)), "line.numbers": Numbers((2,))}


class Lines:
    """What a label should be, by three lines; ``mean`` and ``covariance`` are of the client's rows, label last."""

    def __init__(self, model: Discriminant, mean: Floats, covariance: Floats, rows: float) -> None:
        self._mean, self._rows = mean, max(rows, 1.0)
        self._theirs = model.means[0]
        self._slope = _slope(model.covariance, float(model.counts.sum()))
        pooled = (self._rows * covariance + _KAPPA * model.covariance) / (self._rows + _KAPPA)
        self._own = _slope(pooled, self._rows + _KAPPA)
        width = len(mean) - 1
        inside = pooled[:width, :width] * (self._rows + _KAPPA) + _RIDGE * np.eye(width)
        self._inverse = np.linalg.inv(inside)

    def __call__(self, rows: Floats, moved: Floats, labels: Floats) -> list[Floats]:
        """Predictions of labels by others, others moved, and the client's own line without each row itself."""
        by_others = self._theirs[-1] + (rows - self._theirs[:-1]) @ self._slope
        by_moved = self._mean[-1] + (moved - self._theirs[:-1]) @ self._slope
        away = rows - self._mean[:-1]
        by_own = self._mean[-1] + away @ self._own
        # Leaving a row out of a ridge regression, in closed form: (ŷ − h·y)/(1 − h) with its leverage h.
        leverage = np.minimum(np.einsum("ij,jk,ik->i", away, self._inverse, away) + 1.0 / self._rows, 0.9)
        return [by_others, by_moved, (by_own - leverage * labels) / (1.0 - leverage)]


def _slope(covariance: Floats, rows: float) -> Floats:
    inside, across = covariance[:-1, :-1], covariance[:-1, -1]
    return np.asarray(np.linalg.solve(inside + _RIDGE / max(rows, 1.0) * np.eye(len(inside)), across))


def line_weights(predictions: Floats, labels: Floats, *, least: int = 1) -> Floats:
    """Weights w ≥ 0 that sum to one, at which the absolute residuals are smallest, and the residuals' spread.

    ``predictions`` (k, n). Smoothed, and steadied by the pull to equal weights that `own_weights` has. With ``least``
    no fewer rows decide.
    """
    from scipy.optimize import minimize

    count = len(predictions)
    if least > 1:
        predictions = with_others(predictions, predictions.mean(axis=0), least)

    def loss(parameters: Floats) -> float:
        weights = np.exp(parameters - parameters.max())
        away = labels - weights / weights.sum() @ predictions
        usual = max(float(np.median(np.abs(away))), _LEAST)
        return float(
            np.log(usual) * len(labels) + np.sqrt(1.0 + (away / usual) ** 2).sum() + 0.5 * parameters @ parameters
        )

    found = minimize(loss, np.zeros(count), method="Nelder-Mead", options={"maxiter": 80 * count, "xatol": 1e-2})
    weights = np.exp(found.x - found.x.max())
    weights /= weights.sum()
    away = labels - weights @ predictions
    told = np.append(weights, residual_spread(away, least=least))
    return told if least <= 1 else coarse(told)


def residual_spread(away: Floats, *, least: int = 1) -> float:
    """Robust deviation of residuals; the median is one row's, so that with ``least`` it is a mean of more."""
    ordered = np.sort(np.abs(away))
    beside = min(least, len(ordered)) // 2
    middle = ordered[(len(ordered) - 1) // 2 - beside : len(ordered) // 2 + beside + 1]
    return max(_MAD * float(middle.mean()), _LEAST)


def judged_numbers(predictions: Floats, labels: Floats, weights: Floats) -> tuple[JudgedLabels, Floats]:
    """Judge labels by predictions (k, n), and what they should be; ``weights`` end with the usual spread.

    A right label lies around the prediction as far as most of the client's do; a wrong one anywhere among its labels.
    """
    said = weights[:-1] / max(float(weights[:-1].sum()), _LEAST) @ predictions
    away = labels - said
    spread = min(residual_spread(away), _WIDER * float(weights[-1]))
    right = np.maximum(t.pdf(away / spread, _FREEDOM) / spread, 1e-12)
    wide = max(float(labels.std()), spread)
    wrong = np.maximum(norm.pdf(labels, float(labels.mean()), wide), 1e-12)
    surprise = -np.log(np.clip(2.0 * t.sf(np.abs(away) / spread, _FREEDOM), 1e-12, 1.0))
    nobody = np.full(len(labels), -1, dtype=np.int64)
    return JudgedLabels(right, wrong, surprise, nobody, 1.0), np.asarray(said)


@dataclass(frozen=True, eq=False)
class Line:
    """ŷ = ⟨coefficients, x⟩ + offset, and the spread of clean rows around it."""

    coefficients: Floats
    offset: float
    spread: float

    def predicted(self, values: Floats) -> Floats:
        """The labels that rows of scaled features should have."""
        return np.asarray(values @ self.coefficients + self.offset)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"line.coefficients": self.coefficients, "line.numbers": np.array([self.offset, self.spread])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], width: int) -> Line:
        """Read it from a message for rows of ``width`` features."""
        if "line.coefficients" not in arrays:
            raise ProtocolError("protocols.server-array", name="line.coefficients")
        coefficients, numbers = arrays_of(LINE, arrays, {"features of rows": width})
        if numbers[1] <= 0:
            raise ProtocolError("protocols.server-array", name="line.numbers")
        return cls(coefficients, float(numbers[0]), float(numbers[1]))


@dataclass(frozen=True, eq=False)
class FittedLine:
    """The line, and what lines that had not seen a row predict of its label."""

    line: Line
    predicted: Floats


def fit_line(values: Floats, labels: Floats, *, seed: int) -> FittedLine | None:
    """Ridge regression, its penalty by cross-validation; None for fewer rows than folds."""
    rows = len(labels)
    if rows < 2 * _FOLDS:
        return None
    fold = np.random.default_rng(seed).permutation(rows) % _FOLDS
    found = np.zeros((len(_PENALTIES), rows))
    for number in range(_FOLDS):
        out = fold == number
        for place, (slope, offset) in enumerate(_ridge(values[~out], labels[~out])):
            found[place, out] = values[out] @ slope + offset
    best = int(np.argmin(((found - labels) ** 2).mean(axis=1)))
    slope, offset = _ridge(values, labels)[best]
    spread = float(np.sqrt(((found[best] - labels) ** 2).mean()))
    scale = max(float(np.abs(labels).max()), 1.0)
    return FittedLine(Line(slope, offset, max(spread, 1e-9 * scale)), found[best])


def _ridge(values: Floats, labels: Floats) -> list[tuple[Floats, float]]:
    """Slope and offset for each penalty, from one decomposition."""
    middle, level = values.mean(axis=0), float(labels.mean())
    left, sizes, right = np.linalg.svd(values - middle, full_matrices=False)
    turned = left.T @ (labels - level)
    lines = []
    for penalty in _PENALTIES:
        slope = right.T @ (turned * sizes / (sizes**2 + penalty))
        lines.append((np.asarray(slope), level - float(middle @ slope)))
    return lines
