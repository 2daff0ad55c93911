"""The linear part of the space: projection with a residual, and whitening."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.space.schema import Projection

Floats = NDArray[np.float64]


def project(values: Floats, projection: Projection | None) -> Floats:
    """Coordinates along the kept directions, and the length of what they leave out.

    Without the residual, noise off the data's manifold would be invisible.
    """
    if projection is None:
        return values
    coordinates = values @ projection.directions.T
    lost = (values**2).sum(axis=1) - (coordinates**2).sum(axis=1)
    return np.column_stack([coordinates, np.sqrt(np.maximum(lost, 0.0))])


def principal_directions(values: Floats, width: int, seed: int) -> Projection:
    """The first ``width`` principal directions of centred rows, signs fixed."""
    from sklearn.decomposition import PCA

    width = min(width, *values.shape)
    fitted = PCA(width, svd_solver="randomized", random_state=seed).fit(values)
    return Projection(np.asarray(fitted.components_, dtype=np.float64))


def random_directions(columns: int, width: int, seed: int) -> Projection:
    """Orthonormal directions that depend on the seed alone, for federations without a reference."""
    gaussian = np.random.default_rng(seed).standard_normal((columns, min(width, columns)))
    return Projection(np.ascontiguousarray(np.linalg.qr(gaussian)[0].T))


def whitening_matrix(covariance: Floats, shrinkage: float) -> Floats:
    """Symmetric Σ^(-1/2) of the covariance shrunk towards a multiple of the identity."""
    width = len(covariance)
    level = float(np.trace(covariance)) / width
    shrunk = (1.0 - shrinkage) * covariance + shrinkage * level * np.eye(width)
    values, vectors = np.linalg.eigh(shrunk)
    # Directions without any spread carry no information on the scale: leave them as they are.
    floor = 1e-10 * max(level, np.finfo(float).tiny)
    factors = np.where(values > floor, 1.0 / np.sqrt(np.maximum(values, floor)), 1.0)
    return np.asarray((vectors * factors) @ vectors.T)
