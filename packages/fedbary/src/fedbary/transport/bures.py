"""Wasserstein distances by means and covariances alone: exact for Gaussians, a lower bound for everything else.

Gelbrich (1990): W₂²(P, Q) ≥ ‖μ_P − μ_Q‖² + Bures²(Σ_P, Σ_Q), with equality for Gaussians; covariances with ddof = 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_MOST_STEPS = 200
# Relative to the largest variance: below it a direction has none, and no inverse is taken of it.
_RIDGE = 1e-9
_SETTLED = 1e-10


def bures_squared(first: Floats, second: Floats) -> float:
    """Compute tr A + tr B − 2 tr (A^½ B A^½)^½, the squared distance of centred Gaussians."""
    root = _root(first)
    crossed = np.linalg.eigvalsh(_symmetric(root @ second @ root))
    along = float(np.sqrt(np.maximum(crossed, 0.0)).sum())
    return max(float(np.trace(first) + np.trace(second)) - 2.0 * along, 0.0)


def bures_barycenter(covariances: Sequence[Floats], weights: Floats) -> Floats:
    """The covariance S that minimises Σ_i w_i Bures²(S, Σ_i).

    By the fixed point of Álvarez-Esteban et al. (2016), S ← S^-½ (Σ_i w_i (S^½ Σ_i S^½)^½)² S^-½, which decreases the
    sum in every step.
    """
    weights = np.asarray(weights, dtype=float) / np.sum(weights)
    present = [(weight, cov) for weight, cov in zip(weights, covariances, strict=True) if weight > 0.0]
    current = np.asarray(sum(weight * cov for weight, cov in present))
    level = max(float(np.diag(current).max(initial=0.0)), np.finfo(float).tiny)
    for _ in range(_MOST_STEPS if len(present) > 1 else 0):
        values, vectors = np.linalg.eigh(_symmetric(current))
        root = np.sqrt(np.maximum(values, 0.0))
        inverse = np.where(values > _RIDGE * level, 1.0 / np.maximum(root, np.finfo(float).tiny), 0.0)
        half, back = (vectors * root) @ vectors.T, (vectors * inverse) @ vectors.T
        mean = sum(weight * _root(half @ cov @ half) for weight, cov in present)
        following = _symmetric(back @ mean @ mean @ back)
        if np.abs(following - current).max() <= _SETTLED * level:
            return following
        current = following
    return current


def _root(matrix: Floats) -> Floats:
    """The positive semi-definite square root; what is negative by rounding or noise counts as 0."""
    values, vectors = np.linalg.eigh(_symmetric(matrix))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _symmetric(matrix: Floats) -> Floats:
    return np.asarray((matrix + matrix.T) / 2.0)
