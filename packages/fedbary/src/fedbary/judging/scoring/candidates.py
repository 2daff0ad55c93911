"""Everything that a model may be made of, tried on folds of the server's rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.scoring.components import (
    CLASS_SHRINKAGE,
    ClassCovariances,
    SharedMetric,
    class_directions,
    principal,
    shrunk,
    whitened_variances,
)
from fedbary.judging.scoring.mixture import Centroids, groupings_by_class, soft_minima
from fedbary.space.encode import project
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SHRINKAGES = (0.1, 0.3, 0.7)
_CENTROIDS = (1, 3, 10, 20)
_EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_CLASS_CENTROIDS = (1, 3)
_CLASS_SHARES = (0.1, 0.3, 0.6)
_WIDE = 128
# Numbers from which on folds are tried beside each other: with fewer, threads wait for Python's lock.
_LARGE = 2**17


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows along the directions of their within-class covariance, of which there are at most as many as rows.

    All that a model is made of depends on distances and inner products alone, so that it can be fitted in these
    coordinates. ``centred`` are the rows without their classes' means, ``variances`` those along the directions.
    """

    metric: SharedMetric
    values: Floats
    centred: Floats
    variances: Floats
    codes: Integers
    classes: int

    @classmethod
    def of(cls, values: Floats, codes: Integers, classes: int) -> TrainingRows:
        """Find the directions of rows."""
        (rows, width), mean = values.shape, values.mean(axis=0)
        away, basis = values - mean, None
        if rows < width:
            basis = _principal_basis(away)
            away = away @ basis
        centred = away - Centroids.of(away, codes, codes).points[codes]
        directions, variances, level = principal(centred.T @ centred, rows, width)
        everywhere, spread = directions, variances
        if basis is not None:
            everywhere = _completed(basis @ directions)
            spread = np.append(variances, np.zeros(width - rows))
        metric = SharedMetric(mean, everywhere, spread, level)
        return cls(metric, away @ directions, centred @ directions, variances, codes, classes)

    def rounded(self) -> TrainingRows:
        """Wide rows in single precision, in which candidates are compared in half the time."""
        if self.width <= _WIDE:
            return self
        return replace(self, values=self.values.astype(np.float32), centred=self.centred.astype(np.float32))

    @property
    def width(self) -> int:
        """Features of a row."""
        return len(self.metric.mean)

    def whitened(self, a: float) -> Floats:
        """The rows in the shrunk metric."""
        return np.asarray(self.values / shrunk(self.variances, self.metric.level, a))

    def padded(self, points: Floats) -> Floats:
        """Points along the rows' directions along all of the metric's, of which the rows' are the first."""
        return np.pad(points, ((0, 0), (0, self.width - points.shape[1])))


def _principal_basis(away: Floats) -> Floats:
    """The directions (d, n) of few rows in the order of their variances: they tell the rows' covariance and no row."""
    basis = np.linalg.qr(away.T)[0]
    along = away @ basis
    return np.asarray(basis @ principal(along.T @ along, 1.0, 1)[0])


def _completed(directions: Floats) -> Floats:
    """All directions, those that are missing drawn at random from those that are left."""
    width, known = directions.shape
    drawn = np.random.default_rng(0).standard_normal((width, width - known))
    for _ in range(2):  # once more, as what is left of the first time is not quite orthogonal
        drawn = np.linalg.qr(drawn - directions @ (directions.T @ drawn))[0]
    return np.hstack([directions, drawn])


@dataclass(eq=False)
class OutOfFold:
    """Potentials of every row from folds without it, for every candidate."""

    rows: int
    classes: int
    shared: dict[tuple[int, float, float], Floats] = field(default_factory=dict)
    by_class: dict[tuple[int, float], Floats] = field(default_factory=dict)

    def put(self, where: dict[Any, Floats], key: object, rows: Integers, values: Floats) -> None:
        """Keep what a fold says of its rows."""
        where.setdefault(key, np.zeros((self.rows, self.classes)))[rows] = values


def try_everything(
    rows: TrainingRows,
    folds: Sequence[tuple[Integers, Integers]],
    *,
    min_group: int,
    seed: int,
    busy: Callable[[str], None],
) -> OutOfFold:
    """Score the rows that each fold leaves out by all candidates that are fitted to the others."""
    found = OutOfFold(len(rows.codes), rows.classes)

    def try_fold(one: tuple[Integers, Integers]) -> None:
        fold = _Fold.of(rows, *one)
        own = fold.whitened[fold.inside]
        groupings = groupings_by_class(own, fold.labels, _CENTROIDS, min_group=min_group, seed=seed)
        groups = dict(zip(_CENTROIDS, groupings, strict=True))
        _try_shared(found, fold, groups)
        _try_by_class(found, fold, groups, min_group=min_group, seed=seed)

    with ThreadPoolExecutor(1 if rows.values.size < _LARGE else os.cpu_count() or 1) as pool:
        for number, _ in enumerate(pool.map(try_fold, folds), start=1):
            busy(f"fitting the scoring model, fold {number} of {len(folds)}")
    return found


@dataclass(frozen=True, eq=False)
class _Fold:
    """Rows in the metric of some of them, which is found by taking the others off what is known of all."""

    inside: Integers
    outside: Integers
    labels: Integers
    variances: Floats
    level: float
    rotated: Floats
    whitened: Floats
    off: int

    @classmethod
    def of(cls, rows: TrainingRows, inside: Integers, outside: Integers) -> _Fold:
        """Rotate all rows; ``off`` counts the features' dimensions in which there are none."""
        out, labels = rows.centred[outside], rows.codes[inside]
        # Without these rows the mean of each class moves, and the others scatter about the moved one.
        moved = np.zeros((rows.classes, out.shape[1]), dtype=out.dtype)
        np.add.at(moved, rows.codes[outside], out)
        moved /= np.sqrt(np.bincount(labels, minlength=rows.classes), dtype=out.dtype)[:, None]
        scatter = -(out.T @ out + moved.T @ moved)
        scatter[np.diag_indices_from(scatter)] += len(rows.codes) * rows.variances
        directions, variances, level = principal(scatter, len(inside), rows.width)
        rotated = rows.values @ directions
        whitened = rotated / shrunk(variances, level, CLASS_SHRINKAGE)
        off = rows.width - len(variances)
        return cls(inside, outside, labels, variances, level, rotated, whitened, off)

    def spreads(self, a: float) -> Floats:
        """Standard deviations along the directions, shrunk."""
        return shrunk(self.variances, self.level, a)


def _try_shared(found: OutOfFold, fold: _Fold, groups: Mapping[int, Integers]) -> None:
    """Centroids in one metric: the distances to all of them are one product for each shrinkage."""
    own, other = fold.rotated[fold.inside], fold.rotated[fold.outside]
    centroids = {most: Centroids.of(own, fold.labels, groups[most]) for most in _CENTROIDS}
    points = np.vstack([one.points for one in centroids.values()])
    ends = np.cumsum([len(one.points) for one in centroids.values()])[:-1]
    for a in _SHRINKAGES:
        costs = cost_matrix(other / fold.spreads(a), points / fold.spreads(a), 2)
        for most, part in zip(_CENTROIDS, np.split(costs, ends, axis=1), strict=True):
            epsilons = _EPSILONS if most > 1 else _EPSILONS[:1]
            minima = soft_minima(part, centroids[most], epsilons[::-1], found.classes)
            for epsilon, potentials in zip(epsilons, minima[::-1], strict=True):
                found.put(found.shared, (most, a, epsilon), fold.outside, potentials)


def _try_by_class(found: OutOfFold, fold: _Fold, groups: Mapping[int, Integers], *, min_group: int, seed: int) -> None:
    """A metric for each class, in the whitened directions of all."""
    own, values = fold.whitened[fold.inside], fold.whitened
    within = whitened_variances(fold.variances, fold.level)
    directions = class_directions(own, fold.labels, within, own.shape[1] + fold.off)
    if directions is not None:
        values = project(fold.whitened, directions.T)
        own = values[fold.inside]
        groupings = groupings_by_class(own, fold.labels, _CLASS_CENTROIDS, min_group=min_group, seed=seed)
        groups = dict(zip(_CLASS_CENTROIDS, groupings, strict=True))
    for most in _CLASS_CENTROIDS:
        covariances = ClassCovariances.of(own, fold.labels, groups[most], found.classes, None)
        for b in _CLASS_SHARES:
            found.put(found.by_class, (most, b), fold.outside, covariances.metric(b).potentials(values[fold.outside]))
