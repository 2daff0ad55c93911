"""Fits by log-loss: temperatures, offsets, weights of several models, and logistic regressions of all folds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Keeps the fit of two numbers per class steady when classes are small.
_PENALTY = 0.02
# Hessians of logistic regressions are about this part of the rows' covariance.
_CURVATURE = 0.1
_ENOUGH, _MOST_STEPS = 2e-3, 300


def log_loss(log_probabilities: Floats, codes: Integers) -> float:
    """Mean −log p of the given classes."""
    return float(-log_probabilities[np.arange(len(codes)), codes].mean())


def fit_temperature(potentials: Floats, log_prior: Floats, codes: Integers) -> tuple[float, float]:
    """The one temperature T that minimises the log-loss of −T·pot + log π, and that loss."""
    # Rows lie side by side, so that sums over few classes are sums of long vectors.
    by_class, prior, own = np.ascontiguousarray(-potentials.T), log_prior[:, None], np.arange(len(codes))

    def loss(log_t: float) -> float:
        logits = np.exp(log_t) * by_class
        logits += prior
        logits -= logits.max(axis=0)
        right = logits[codes, own]
        np.exp(logits, out=logits)
        return float((np.log(logits.sum(axis=0)) - right).mean())

    found = minimize_scalar(loss, bounds=(-7.0, 4.0), method="bounded", options={"xatol": 0.02})
    return float(np.exp(found.x)), float(found.fun)


def fit_class_scales(potentials: Floats, log_prior: Floats, codes: Integers, start: float) -> tuple[Floats, Floats]:
    """Class-wise temperatures T·t_c and offsets b_c for logits −T·t_c·pot_c + log π_c + b_c."""
    rows, classes = potentials.shape
    one_hot = np.zeros_like(potentials)
    one_hot[np.arange(rows), codes] = 1.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_scale, offset = parameters[:classes], parameters[classes:]
        scale = start * np.exp(log_scale)
        log_p = log_softmax(-scale * potentials + log_prior + offset, axis=1)
        error = (np.exp(log_p) - one_hot) / rows
        value = log_loss(log_p, codes) + _PENALTY * (log_scale**2).sum() + _PENALTY * (offset**2).sum() / 4
        slope = (-error * potentials).sum(axis=0) * scale + 2 * _PENALTY * log_scale
        return float(value), np.concatenate([slope, error.sum(axis=0) + _PENALTY * offset / 2])

    found = minimize(loss, np.zeros(2 * classes), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return start * np.exp(found.x[:classes]), np.asarray(found.x[classes:])


def fit_blend(parts: list[Floats], codes: Integers) -> Floats:
    """Weights α ≥ 0 of log-probabilities whose normalised sum has the least log-loss."""
    rows = np.arange(len(codes))

    def loss(alpha: Floats) -> tuple[float, Floats]:
        log_p = log_softmax(sum(a * part for a, part in zip(alpha, parts, strict=True)), axis=1)
        p = np.exp(log_p)
        slope = [float(((p * part).sum(axis=1) - part[rows, codes]).mean()) for part in parts]
        return float(-log_p[rows, codes].mean()), np.array(slope)

    start = np.full(len(parts), 1.0 / len(parts))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 5.0)] * len(parts))
    return np.asarray(found.x)


@dataclass(eq=False)
class LogisticRegressions:
    """One regression without each fold's rows, and one of all rows.

    They differ in few rows, so that they are solved as one problem: as many columns of one matrix product. Steps are
    scaled along the rows' principal axes. These do not depend on labels: where rows are fewer than columns, axes of the
    scatter within classes would tell the class of a row that a fold has left out, and a search that stops early would
    have read it.

    Parameters
    ----------
    rows : array (n, r)
        The rows, centred; single precision is enough.
    codes : array
        Their classes, 0…K−1, of which every fold leaves some rows.
    folds : sequence of arrays
        The rows that each fold leaves out.
    """

    rows: NDArray[np.floating]
    codes: Integers
    classes: int
    folds: Sequence[Integers]

    def __post_init__(self) -> None:
        rows, count = len(self.rows), len(self.folds) + 1
        scatter = np.asarray(self.rows.T @ self.rows, dtype=np.float64) / rows
        self._variances, self._axes = np.linalg.eigh(scatter)
        self._along = self.rows @ self._axes.astype(self.rows.dtype)
        self._weights = np.ones((count, rows), dtype=self.rows.dtype)
        for number, out in enumerate(self.folds):
            self._weights[number, out] = 0.0
        self._left = self._weights.sum(axis=1, dtype=np.float64)
        self._weights /= self._left[:, None]

    def fit(self, strength: float, start: Floats | None = None) -> Floats:
        """Coefficients along the axes and offsets (folds + 1, K, r + 1) for an inverse penalty, from those for one."""
        # Of two classes one set of coefficients is as good as two, at twice the price.
        by_fold = (2.0 if self.classes == 2 else 1.0) / (strength * self._left)
        variances = np.maximum(self._variances, 0.0)
        count, width = len(by_fold), len(variances) + 1
        scale, penalties, shape = np.ones((count, 1, width)), by_fold[:, None, None], (count, self.classes, width)
        scale[:, 0, :-1] = np.sqrt(_CURVATURE * variances + by_fold[:, None])
        rows, weights, codes = self._along, self._weights, self.codes
        own = np.arange(len(rows))

        def loss(flat: Floats) -> tuple[float, Floats]:
            """Sum of the regressions' penalised losses and its slope, in scaled coefficients."""
            found = flat.reshape(shape) / scale
            flattened = found.reshape(-1, width).astype(rows.dtype)
            # Rows lie side by side, so that sums over few classes are sums of long vectors.
            logits = flattened[:, :-1] @ rows.T
            logits += flattened[:, -1:]
            logits = logits.reshape(count, -1, len(rows))
            logits -= logits.max(axis=1, keepdims=True)
            right = logits[:, codes, own]
            np.exp(logits, out=logits)
            total = logits.sum(axis=1, keepdims=True)
            value = float(((np.log(total[:, 0]) - right) * weights).sum(dtype=np.float64))
            logits *= weights[:, None] / total
            logits[:, codes, own] -= weights
            errors = logits.reshape(-1, len(rows))
            slope = np.empty_like(found)
            slope[..., :-1] = (errors @ rows).reshape(count, -1, width - 1)
            slope[..., -1] = errors.sum(axis=1).reshape(count, -1)
            slope[..., :-1] += penalties * found[..., :-1]
            value += float((penalties * found[..., :-1] ** 2).sum()) / 2.0
            return value, (slope / scale).ravel()

        begin = np.zeros(shape) if start is None else start * scale
        found = minimize(
            loss,
            begin.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "gtol": _ENOUGH, "maxls": 50},
        )
        return np.asarray(found.x.reshape(shape) / scale)

    def potentials(self, found: Floats) -> Floats:
        """−logits of each row, from the regression that has not seen it."""
        result = np.zeros((len(self.rows), self.classes))
        for out, one in zip(self.folds, found[:-1], strict=True):
            result[out] = -(self._along[out] @ one[:, :-1].T + one[:, -1])
        return result

    def coefficients(self, found: Floats) -> Floats:
        """Coefficients along the rows' own coordinates (folds + 1, K, r)."""
        return np.asarray(found[..., :-1] @ self._axes.T)


def best_linear(regressions: LogisticRegressions, strengths: Sequence[float]) -> tuple[Floats, Floats, Floats]:
    """The strength of least loss, looked for from the middle to the better side for as long as the loss falls.

    Coefficients and offsets of the regression of all rows, and −logits of each row from the one without its fold.
    """

    def loss(found: Floats) -> float:
        return log_loss(log_softmax(-regressions.potentials(found), axis=1), regressions.codes)

    middle = len(strengths) // 2 - 1
    best = regressions.fit(strengths[middle])
    least = start = loss(best)
    for side in (strengths[middle + 1 :], strengths[:middle][::-1]):
        if least < start:
            break
        for strength in side:
            found = regressions.fit(strength, best)
            if (value := loss(found)) >= least:
                break
            best, least = found, value
    return regressions.coefficients(best)[-1], best[-1, :, -1], regressions.potentials(best)
