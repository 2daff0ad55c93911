"""Class-wise Gaussian mixtures around centroids: the soft minimum of squared distances, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Centroids:
    """Group means with their class and the share of the class that each holds."""

    points: Floats
    classes: Integers
    weights: Floats

    @classmethod
    def of(cls, values: Floats, codes: Integers, groups: Integers) -> Centroids:
        """Exact means of given groups; the same groups can serve rows in several metrics."""
        count = groups.max() + 1
        sizes = np.bincount(groups, minlength=count)
        sums = np.zeros((count, values.shape[1]))
        np.add.at(sums, groups, values)
        classes = np.zeros(count, dtype=np.int64)
        classes[groups] = codes
        return cls(sums / sizes[:, None], classes, sizes / np.bincount(codes)[classes])

    def weighted(self, log_prior: Floats) -> Centroids:
        """The same centroids with the share of all rows that each holds."""
        return Centroids(self.points, self.classes, self.weights * np.exp(log_prior)[self.classes])


def grouped_by_class(
    values: Floats,
    codes: Integers,
    most: int | Mapping[int, int],
    *,
    min_group: int,
    seed: int,
    copies: Integers | None = None,
) -> Integers:
    """Assign rows to `grouped` groups that never cross classes, at most ``most`` in each class."""
    groups, start = np.zeros(len(codes), dtype=np.int64), 0
    for code in np.unique(codes):
        mine = codes == code
        own = None if copies is None else copies[mine]
        share = most if isinstance(most, int) else most[int(code)]
        groups[mine] = start + grouped(values[mine], share, copies=own, min_group=min_group, seed=seed)
        start = int(groups[mine].max()) + 1
    return groups


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


def soft_minimum(costs: Floats, centroids: Centroids, epsilon: float, classes: int) -> Floats:
    """pot_c(x) = −ε·log Σ_{s∈c} w_s·exp(−‖x − z_s‖²/ε), one column per class, from squared distances (DESIGN 2.6)."""
    potentials = np.full((len(costs), classes), np.inf)
    for code in range(classes):
        mine = centroids.classes == code
        if mine.any():
            exponents = -costs[:, mine] / epsilon + np.log(centroids.weights[mine])
            potentials[:, code] = -epsilon * logsumexp(exponents, axis=1)
    return potentials
