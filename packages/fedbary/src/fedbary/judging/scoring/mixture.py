"""Class-wise Gaussian mixtures around centroids: the soft minimum of squared distances, class by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.scoring.k_means import fewest_coordinates, k_means

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
        count = int(groups.max()) + 1
        sizes = np.bincount(groups, minlength=count)
        order = np.argsort(groups, kind="stable")
        sums = np.add.reduceat(values[order], np.cumsum(sizes) - sizes, axis=0)
        classes = np.zeros(count, dtype=np.int64)
        classes[groups] = codes
        return cls(sums / sizes[:, None], classes, sizes / np.bincount(codes)[classes])


def grouped_by_class(
    values: Floats,
    codes: Integers,
    most: int | Mapping[int, int],
    *,
    min_group: int,
    seed: int,
) -> Integers:
    """Assign rows to `grouped` groups that never cross classes, at most ``most`` in each class."""
    return groupings_by_class(values, codes, (most,), min_group=min_group, seed=seed)[0]


def groupings_by_class(
    values: Floats,
    codes: Integers,
    mosts: Sequence[int | Mapping[int, int]],
    *,
    min_group: int,
    seed: int,
) -> list[Integers]:
    """`grouped_by_class` for several ``most`` at the price of little more than one."""
    groupings, starts = [np.zeros(len(codes), dtype=np.int64) for _ in mosts], [0] * len(mosts)
    for code in np.unique(codes):
        mine = codes == code
        rows = fewest_coordinates(values[mine])
        for place, most in enumerate(mosts):
            share = most if isinstance(most, int) else most[int(code)]
            found = starts[place] + grouped(rows, share, min_group=min_group, seed=seed)
            groupings[place][mine] = found
            starts[place] = int(found.max()) + 1
    return groupings


def grouped(rows: Floats, most: int, *, min_group: int, seed: int) -> Integers:
    """Assign rows to at most ``most`` k-means groups; groups under ``min_group`` rows join their nearest one."""
    count = max(1, min(most, len(rows) // max(min_group, 1)))
    if count == 1:
        return np.zeros(len(rows), dtype=np.int64)
    groups, centres = k_means(rows, count, seed=seed)
    sizes = np.bincount(groups, minlength=count)
    while (sizes > 0).sum() > 1 and sizes[sizes > 0].min() < min_group:
        small = int(np.argmin(np.where(sizes > 0, sizes, len(rows) + 1)))
        others = np.flatnonzero((sizes > 0) & (np.arange(count) != small))
        nearest = others[np.argmin(((centres[others] - centres[small]) ** 2).sum(axis=1))]
        groups[groups == small] = nearest
        centres[nearest] = rows[groups == nearest].mean(axis=0)
        sizes = np.bincount(groups, minlength=count)
    return np.asarray((np.cumsum(sizes > 0) - 1)[groups], dtype=np.int64)


def soft_minimum(costs: Floats, centroids: Centroids, epsilon: float, classes: int) -> Floats:
    """pot_c(x) = −ε·log Σ_{s∈c} w_s·exp(−‖x − z_s‖²/ε), one column per class, from squared distances (DESIGN 2.6)."""
    return soft_minima(costs, centroids, (epsilon,), classes)[0]


def soft_minimum_of_one(costs: Floats, weights: Floats, epsilon: float) -> Floats:
    """`soft_minimum` where all centroids are of one class."""
    by_centroid = costs.T.copy()
    least = by_centroid.min(axis=0)
    by_centroid -= least
    by_centroid /= -epsilon
    terms = np.exp(by_centroid, out=by_centroid)
    terms *= weights.astype(costs.dtype)[:, None]
    return np.asarray(least - epsilon * np.log(terms.sum(axis=0)))


def soft_minima(costs: Floats, centroids: Centroids, epsilons: Sequence[float], classes: int) -> list[Floats]:
    """`soft_minimum` for several ε, from the largest down: where ε is halved, the terms are squared."""
    order = np.argsort(centroids.classes, kind="stable")
    present, starts, sizes = np.unique(centroids.classes[order], return_index=True, return_counts=True)
    if not len(present):
        return [np.full((len(costs), classes), np.inf) for _ in epsilons]
    # Rows lie side by side, so that sums over few centroids are sums of long vectors.
    by_centroid, weights = costs.T[order], centroids.weights[order].astype(costs.dtype)[:, None]
    least = np.minimum.reduceat(by_centroid, starts, axis=0)
    by_centroid -= np.repeat(least, sizes, axis=0)
    found, terms, before = [], np.empty(0), 0.0
    for epsilon in epsilons:
        terms = terms**2 if epsilon == before / 2.0 else np.exp(by_centroid / -epsilon)
        before = epsilon
        potentials = np.full((classes, len(costs)), np.inf)
        potentials[present] = least - epsilon * np.log(np.add.reduceat(terms * weights, starts, axis=0))
        found.append(potentials.T)
    return found
