"""From potentials to probabilities: temperatures, offsets and the weights of several models, by log-loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Keeps the fit of two numbers per class steady when classes are small.
_PENALTY = 0.02


def log_loss(log_probabilities: Floats, codes: Integers) -> float:
    """Mean −log p of the given classes."""
    return float(-log_probabilities[np.arange(len(codes)), codes].mean())


def fit_temperature(potentials: Floats, log_prior: Floats, codes: Integers) -> tuple[float, float]:
    """The one temperature T that minimises the log-loss of −T·pot + log π, and that loss."""
    from scipy.optimize import minimize_scalar

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
    from scipy.optimize import minimize

    rows, classes = potentials.shape
    one_hot = np.zeros_like(potentials)
    one_hot[np.arange(rows), codes] = 1.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_scale, offset = parameters[:classes], parameters[classes:]
        scale = start * np.exp(log_scale)
        log_p = log_softmax(-scale * potentials + log_prior + offset, axis=1)
        error = (np.exp(log_p) - one_hot) / rows
        value = (
            -log_p[np.arange(rows), codes].mean() + _PENALTY * (log_scale**2).sum() + _PENALTY * (offset**2).sum() / 4
        )
        slope = (-error * potentials).sum(axis=0) * scale + 2 * _PENALTY * log_scale
        return float(value), np.concatenate([slope, error.sum(axis=0) + _PENALTY * offset / 2])

    found = minimize(loss, np.zeros(2 * classes), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return start * np.exp(found.x[:classes]), np.asarray(found.x[classes:])


def fit_blend(parts: list[Floats], codes: Integers) -> Floats:
    """Weights α ≥ 0 of log-probabilities whose normalised sum has the least log-loss."""
    from scipy.optimize import minimize

    rows = np.arange(len(codes))

    def loss(alpha: Floats) -> tuple[float, Floats]:
        log_p = log_softmax(sum(a * part for a, part in zip(alpha, parts, strict=True)), axis=1)
        p = np.exp(log_p)
        slope = [float(((p * part).sum(axis=1) - part[rows, codes]).mean()) for part in parts]
        return float(-log_p[rows, codes].mean()), np.array(slope)

    start = np.full(len(parts), 1.0 / len(parts))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, 5.0)] * len(parts))
    return np.asarray(found.x)
