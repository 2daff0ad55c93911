"""Class-wise Gaussian mixtures around centroids: the soft minimum of squared distances, class by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.cost import cost_matrix

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Centroids:
    """Group means with their class and the share of the class that each holds."""

    points: Floats
    classes: Integers
    weights: Floats


def class_centroids(
    values: Floats, codes: Integers, per_class: int, *, min_group: int, seed: int, copies: Integers | None = None
) -> Centroids:
    """Exact means of k-means groups of at least ``min_group`` rows, at most ``per_class`` for each class."""
    copies = np.arange(len(values)) if copies is None else copies
    points, classes, weights = [], [], []
    for code in np.unique(codes):
        rows = values[codes == code]
        groups = grouped(rows, per_class, copies=copies[codes == code], min_group=min_group, seed=seed)
        for group in range(groups.max() + 1):
            mine = groups == group
            points.append(rows[mine].mean(axis=0))
            classes.append(int(code))
            weights.append(mine.mean())
    return Centroids(np.array(points), np.array(classes), np.array(weights))


def grouped(rows: Floats, most: int, *, min_group: int, seed: int, copies: Integers | None = None) -> Integers:
    """Assign rows to at most ``most`` k-means groups; groups under ``min_group`` rows join their nearest one.

    Rows with the same number in ``copies`` count as one.
    """
    copies = np.arange(len(rows)) if copies is None else copies
    count = max(1, min(most, len(np.unique(copies)) // max(min_group, 1)))
    if count == 1:
        return np.zeros(len(rows), dtype=np.int64)
    from sklearn.cluster import KMeans

    found = KMeans(count, n_init=1, max_iter=50, random_state=seed).fit(rows)
    groups, centres = found.labels_.astype(np.int64), found.cluster_centers_
    sizes = _different(groups, copies, count)
    while (sizes > 0).sum() > 1 and sizes[sizes > 0].min() < min_group:
        small = int(np.argmin(np.where(sizes > 0, sizes, len(rows) + 1)))
        others = np.flatnonzero((sizes > 0) & (np.arange(count) != small))
        nearest = others[np.argmin(((centres[others] - centres[small]) ** 2).sum(axis=1))]
        groups[groups == small] = nearest
        centres[nearest] = rows[groups == nearest].mean(axis=0)
        sizes = _different(groups, copies, count)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _different(groups: Integers, copies: Integers, count: int) -> Integers:
    """How many different rows each group holds."""
    pairs = np.unique(groups * (int(copies.max()) + 1) + copies)
    return np.bincount(pairs // (int(copies.max()) + 1), minlength=count)


def soft_minimum(values: Floats, centroids: Centroids, epsilon: float, classes: int) -> Floats:
    """pot_c(x) = −ε·log Σ_{s∈c} w_s·exp(−‖x − z_s‖²/ε), one column per class (DESIGN 2.6)."""
    costs = cost_matrix(values, centroids.points, 2)
    return soft_minimum_of_costs(costs, centroids, epsilon, classes)


def soft_minimum_of_costs(costs: Floats, centroids: Centroids, epsilon: float, classes: int) -> Floats:
    """The same from a matrix of squared distances."""
    potentials = np.full((len(costs), classes), np.inf)
    for code in range(classes):
        mine = centroids.classes == code
        if mine.any():
            exponents = -costs[:, mine] / epsilon + np.log(centroids.weights[mine])
            top = exponents.max(axis=1, keepdims=True)
            potentials[:, code] = -epsilon * (top[:, 0] + np.log(np.exp(exponents - top).sum(axis=1)))
    return potentials
