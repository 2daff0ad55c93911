"""The three ways to score a class: one shared metric, a metric per class, and a linear model (DESIGN 2.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.space.points import project
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.scoring.mixture import Centroids, grouped_by_class, soft_minimum

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
        return np.asarray(rotated / np.sqrt((1.0 - a) * self.variances + a * self.level))

    def whiten(self, values: Floats, a: float) -> Floats:
        """Both steps at once."""
        return self.rescale(self.rotate(values), a)


def shared_metric(values: Floats, codes: Integers) -> SharedMetric:
    """Fit the within-class covariance of rows."""
    centred = values.copy()
    for code in np.unique(codes):
        centred[codes == code] -= values[codes == code].mean(axis=0)
    covariance = centred.T @ centred / len(values)
    variances, directions = np.linalg.eigh(covariance)
    variances = np.maximum(variances, 0.0)
    level = max(float(variances.mean()), 1e-12)
    return SharedMetric(values.mean(axis=0), directions, variances, level)


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
        classes = len(self.roots)
        potentials = np.full((len(values), classes), np.inf)
        for code in range(classes):
            mine = self.centroids.classes == code
            if mine.any():
                root = self.roots[code]
                costs = cost_matrix(values @ root, self.centroids.points[mine] @ root, 2)
                own = Centroids(self.centroids.points[mine], np.zeros(mine.sum(), int), self.centroids.weights[mine])
                potentials[:, code] = soft_minimum(costs, own, 2.0, 1)[:, 0] / 2.0 + self.log_determinants[code]
        return potentials


def class_directions(whitened: Floats) -> Floats | None:
    """Principal directions of wide whitened rows; None where all directions are kept."""
    if whitened.shape[1] <= _WIDE:
        return None
    _, _, directions = np.linalg.svd(whitened - whitened.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(directions[:_CLASS_WIDTH].T)


def fit_class_metric(
    whitened: Floats,
    codes: Integers,
    classes: int,
    directions: Floats | None,
    *,
    per_class: int,
    b: float,
    min_group: int,
    seed: int,
    copies: Integers | None = None,
) -> ClassMetric:
    """Σ_c = (1 − b)·I + b·Σ̂_c around ``per_class`` centroids of each class."""
    values = project(whitened, None if directions is None else directions.T)
    width = values.shape[1]
    groups = grouped_by_class(values, codes, per_class, copies=copies, min_group=min_group, seed=seed)
    centroids = Centroids.of(values, codes, groups)
    roots, log_determinants = np.zeros((classes, width, width)), np.zeros(classes)
    for code in np.unique(codes):
        rows = values[codes == code]
        own = centroids.points[centroids.classes == code]
        nearest = np.argmin(cost_matrix(rows, own, 2), axis=1)
        centred = rows - own[nearest]
        covariance = (1.0 - b) * np.eye(width) + b * (centred.T @ centred) / len(rows)
        spread, vectors = np.linalg.eigh(covariance)
        roots[code] = vectors / np.sqrt(spread)
        log_determinants[code] = np.log(spread).sum() / 2.0
    return ClassMetric(directions, centroids, roots, log_determinants)


def fit_linear(
    values: Floats, codes: Integers, classes: int, strengths: tuple[float, ...]
) -> list[tuple[Floats, Floats]]:
    """Logistic regressions (coefficients, offsets) for each inverse penalty C, each started from the last."""
    from sklearn.linear_model import LogisticRegression

    present = np.unique(codes)
    model = LogisticRegression(C=strengths[0], max_iter=300, tol=1e-3, warm_start=True)
    fits = []
    for strength in strengths:
        model.C = strength
        model.fit(values, codes)
        coefficients, offsets = np.zeros((classes, values.shape[1])), np.full(classes, -30.0)
        if len(present) == 2:  # scikit-learn keeps one row for two classes
            coefficients[present] = np.vstack([-model.coef_[0] / 2, model.coef_[0] / 2])
            offsets[present] = [-model.intercept_[0] / 2, model.intercept_[0] / 2]
        else:
            coefficients[present], offsets[present] = model.coef_, model.intercept_
        fits.append((coefficients, offsets))
    return fits
