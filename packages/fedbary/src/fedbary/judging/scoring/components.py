"""Two ways to score a class: by one metric for all classes, and by a metric for each (DESIGN 2.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.compute.arrays import centred_distances
from fedbary.judging.scoring.mixture import Centroids, soft_minimum_of_one
from fedbary.space.encode import project
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_WIDE, _CLASS_WIDTH = 128, 64
# Whitening in which class-wise covariances are fitted and centroids are grouped.
CLASS_SHRINKAGE = 0.3


@dataclass(frozen=True, eq=False)
class SharedMetric:
    """Whitening by the within-class covariance (1 − a)·Σ + a·tr/d·I, kept as directions and their spreads."""

    mean: Floats
    directions: Floats
    variances: Floats
    level: float

    def rotate(self, values: Floats) -> Floats:
        """Coordinates along the directions: the costly part of whitening, the same for every ``a``."""
        return np.asarray((values - self.mean) @ self.directions)

    def rescale(self, rotated: Floats, a: float) -> Floats:
        """Coordinates in which the shrunk within-class covariance is the identity."""
        return np.asarray(rotated / shrunk(self.variances, self.level, a))


def shrunk(variances: Floats, level: float, a: float) -> Floats:
    """Standard deviations of (1 − a)·Σ + a·level·I along the directions of Σ."""
    return np.asarray(np.sqrt((1.0 - a) * variances + a * level))


def whitened_variances(variances: Floats, level: float) -> Floats:
    """What is left of variances inside classes where class-wise covariances are fitted."""
    return np.asarray(variances / shrunk(variances, level, CLASS_SHRINKAGE) ** 2)


def principal(scatter: Floats, rows: float, width: int) -> tuple[Floats, Floats, float]:
    """Directions, variances and their mean over ``width`` features, of a within-class scatter of some rows."""
    from scipy.linalg import eigh

    variances, directions = eigh(scatter / rows, driver="evd", overwrite_a=True, check_finite=False)
    variances = np.maximum(variances, 0.0)
    return directions, variances, max(float(variances.sum()) / width, 1e-12)


@dataclass(frozen=True, eq=False)
class ClassMetric:
    """Gaussian mixtures with a covariance per class, in at most 64 whitened directions and a residual."""

    directions: Floats | None
    centroids: Centroids
    roots: Floats
    log_determinants: Floats

    def potentials(self, whitened: Floats) -> Floats:
        """−log-density of each class, up to a common constant."""
        values = project(whitened, None if self.directions is None else self.directions.T)
        potentials = np.full((len(values), len(self.roots)), np.inf)
        for code, (centre, points, squares, weights) in self._own.items():
            costs = centred_distances(values @ self.roots[code] - centre, points, squares)
            potentials[:, code] = soft_minimum_of_one(costs, weights, 2.0) / 2.0 + self.log_determinants[code]
        return potentials

    @cached_property
    def _own(self) -> dict[int, tuple[Floats, Floats, Floats, Floats]]:
        """The centroids of each class in its metric: their centre, they around it, their squares and weights."""
        found = {}
        for code, root in enumerate(self.roots):
            mine = self.centroids.classes == code
            if mine.any():
                points = self.centroids.points[mine] @ root
                centre = points.mean(axis=0)
                points = points - centre
                squares = np.einsum("ij,ij->i", points, points)
                found[code] = (centre, points, squares, self.centroids.weights[mine])
        return found


def class_directions(whitened: Floats, codes: Integers, within: Floats, features: int) -> Floats | None:
    """Principal directions of whitened rows of many features; None where all directions are kept.

    ``within`` are the rows' variances inside classes, which are independent: what is added are the classes' means.
    """
    if features <= _WIDE:
        return None
    from scipy.linalg import eigh

    counts = np.bincount(codes)
    means = Centroids.of(whitened, codes, codes).points
    means = np.sqrt(counts / len(codes))[:, None] * (means - counts @ means / len(codes))
    covariance = (means.T @ means).astype(whitened.dtype)
    covariance[np.diag_indices_from(covariance)] += within
    width = len(covariance)
    first = max(width - _CLASS_WIDTH, 0)
    return np.ascontiguousarray(eigh(covariance, subset_by_index=(first, width - 1), check_finite=False)[1][:, ::-1])


@dataclass(frozen=True, eq=False)
class ClassCovariances:
    """Σ̂_c around centroids of each class, decomposed: what metrics of every share ``b`` have in common."""

    directions: Floats | None
    centroids: Centroids
    vectors: Floats
    spreads: Floats

    @classmethod
    def of(
        cls, values: Floats, codes: Integers, groups: Integers, classes: int, directions: Floats | None
    ) -> ClassCovariances:
        """Fit them to rows that are projected on the directions."""
        width = values.shape[1]
        centroids = Centroids.of(values, codes, groups)
        covariances = np.zeros((classes, width, width), dtype=values.dtype)
        for code in range(classes):
            rows, own = values[codes == code], centroids.points[centroids.classes == code]
            nearest = np.argmin(cost_matrix(rows, own, 2), axis=1) if len(own) > 1 else np.zeros(len(rows), dtype=int)
            centred = rows - own[nearest]
            covariances[code] = centred.T @ centred / len(rows)
        spreads, vectors = np.linalg.eigh(covariances)
        return cls(directions, centroids, vectors, spreads)

    def metric(self, b: float) -> ClassMetric:
        """Σ_c = (1 − b)·I + b·Σ̂_c."""
        spreads = (1.0 - b) + b * self.spreads
        roots = self.vectors / np.sqrt(spreads)[:, None, :]
        return ClassMetric(self.directions, self.centroids, roots, np.log(spreads).sum(axis=1) / 2.0)
