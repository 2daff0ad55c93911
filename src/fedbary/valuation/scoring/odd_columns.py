"""Which columns make a row's features odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.space.schema import Schema
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.scoring.model import ScoringModel

Floats = NDArray[np.float64]

# Columns are named until they make up half of what makes the row odd, at most so many.
_HALF, _MOST = 0.5, 3


def odd_columns(values: Floats, schema: Schema, model: ScoringModel) -> list[str | None]:
    """For each row of scaled features the columns that take it away from the nearest centroid, the worst first.

    The squared distance in the model's metric is rᵀPr = Σ_j r_j·(Pr)_j, r the row's deviation from the centroid, so
    that each coordinate has its part. None where the features are one block, as pixels are.
    """
    if all(column.kind == "block" for column in schema.columns):
        return [None] * len(values)
    metric, a = model.metric, model.feature_shrinkage
    whitened = metric.whiten(values, a)
    nearest = np.argmin(cost_matrix(whitened, model.feature_centroids.points, 2), axis=1)
    away = whitened - model.feature_centroids.points[nearest]
    spread = np.sqrt((1.0 - a) * metric.variances + a * metric.level)
    parts = ((away * spread) @ metric.directions.T) * ((away / spread) @ metric.directions.T)
    edges = np.cumsum([0, *(column.coordinates for column in schema.columns)])
    by_column = np.maximum(np.add.reduceat(parts, edges[:-1], axis=1), 0.0)
    names = [column.name for column in schema.columns]
    return [_named(row, names) for row in by_column]


def _named(parts: Floats, names: list[str]) -> str | None:
    total, found, sum_ = float(parts.sum()), [], 0.0
    if total <= 0.0:
        return None
    for place in np.argsort(-parts)[:_MOST]:
        found.append(names[place])
        sum_ += float(parts[place])
        if sum_ >= _HALF * total:
            break
    return ", ".join(found)
