"""Missing cells of a row, as the model would expect them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.cost import cost_matrix
from fedbary.valuation.scoring.model import ScoringModel

Floats = NDArray[np.float64]

# The nearest centroid is looked up with what was imputed, and once more with what was lent.
_ROUNDS = 2
_STEPS, _ENOUGH = 60, 1e-8


def lent(values: Floats, holes: NDArray[np.bool_], model: ScoringModel) -> Floats:
    """Rows of scaled features with those values in their holes that bring them nearest to their centroid.

    In the metric of the feature score, rᵀPr with r the deviation from the centroid, that is the conditional mean of a
    Gaussian given the cells that are there, so the distance is that of these cells alone. Conjugate gradients, all rows
    at once.
    """
    metric, a = model.metric, model.feature_shrinkage
    spread = np.sqrt((1.0 - a) * metric.variances + a * metric.level)
    precision = (metric.directions / spread**2) @ metric.directions.T
    centroids = metric.mean + (model.feature_centroids.points * spread) @ metric.directions.T
    filled = values
    for _ in range(_ROUNDS):
        nearest = np.argmin(cost_matrix(metric.whiten(filled, a), model.feature_centroids.points, 2), axis=1)
        away = np.where(holes, 0.0, values - centroids[nearest])
        filled = np.where(holes, centroids[nearest] + _best(away, holes, precision), values)
    return filled


def _best(away: Floats, holes: NDArray[np.bool_], precision: Floats) -> Floats:
    """X in the holes that minimises (away + x)ᵀP(away + x), row by row."""
    found = np.zeros_like(away)
    residual = np.where(holes, -(away @ precision), 0.0)
    direction, size = residual.copy(), (residual**2).sum(axis=1)
    enough = _ENOUGH * np.maximum(size, 1e-300)
    for _ in range(_STEPS):
        going = size > enough
        if not going.any():
            break
        turned = np.where(holes, direction @ precision, 0.0)
        curvature = (direction * turned).sum(axis=1)
        step = np.where(going & (curvature > 0), size / np.maximum(curvature, 1e-300), 0.0)[:, None]
        found += step * direction
        residual -= step * turned
        before, size = size, (residual**2).sum(axis=1)
        direction = residual + np.where(going, size / np.maximum(before, 1e-300), 0.0)[:, None] * direction
    return found
