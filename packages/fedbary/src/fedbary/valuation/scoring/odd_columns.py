"""Which columns make a row's features odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.space.schema import Schema
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.scoring.components import CLASS_SHRINKAGE
from fedbary.valuation.scoring.model import ScoringModel

Floats = NDArray[np.float64]

# Columns are named until they make up half of what makes the row odd, at most so many.
_HALF, _MOST = 0.5, 3


def odd_columns(whitened: Floats, schema: Schema, model: ScoringModel) -> list[str | None]:
    """For each row the columns that take it away from the nearest centroid, the worst first.

    ``whitened`` are the rows in the model's metric, shrunk by `CLASS_SHRINKAGE`. The squared distance in that of the
    feature score is rᵀPr = Σ_j r_j·(Pr)_j, r the row's deviation from the centroid, so that each coordinate has its
    part. None where the features are one block, as pixels are.
    """
    if all(column.kind == "block" for column in schema.columns):
        return [None] * len(whitened)
    metric, a = model.metric, model.feature_shrinkage
    spread, before = (np.sqrt((1.0 - b) * metric.variances + b * metric.level) for b in (a, CLASS_SHRINKAGE))
    rescaled = whitened * (before / spread)
    nearest = np.argmin(cost_matrix(rescaled, model.feature_centroids.points, 2), axis=1)
    away = rescaled - model.feature_centroids.points[nearest]
    parts = ((away * spread) @ metric.directions.T) * ((away / spread) @ metric.directions.T)
    edges = np.cumsum([0, *(column.coordinates for column in schema.columns)])
    by_column = np.maximum(np.add.reduceat(parts, edges[:-1], axis=1), 0.0)
    return _named(by_column, [column.name for column in schema.columns])


def _named(parts: Floats, names: list[str]) -> list[str | None]:
    worst = np.argsort(-parts, axis=1)[:, :_MOST]
    reached = np.cumsum(np.take_along_axis(parts, worst, axis=1), axis=1)
    total = parts.sum(axis=1)
    enough = np.concatenate([np.zeros((len(parts), 1), bool), reached[:, :-1] >= _HALF * total[:, None]], axis=1)
    # Few columns make most rows odd, so that each list of them is written once.
    lists, of_row = np.unique(np.where(enough, -1, worst), axis=0, return_inverse=True)
    texts = [", ".join(names[place] for place in chosen if place >= 0) for chosen in lists]
    return [texts[one] if some else None for one, some in zip(of_row.ravel(), total > 0.0, strict=True)]
