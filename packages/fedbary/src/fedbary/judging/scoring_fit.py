"""Fitting the scoring model on the server's rows: every choice by cross-validated log-loss, no client involved."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import log_softmax

from fedbary.errors import DataError
from fedbary.judging.grouping import grouped_by_class, groupings_by_class
from fedbary.judging.log_loss import (
    LogisticRegressions,
    best_linear,
    fit_blend,
    fit_class_scales,
    fit_temperature,
)
from fedbary.judging.scoring import CLASS_SHRINKAGE, Centroids, ClassMetric, ScoringModel, SharedMetric, shrunk
from fedbary.space.encode import project
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FOLDS = 5
_STRENGTHS = tuple(10.0 ** np.arange(-4, 2))
_SHRINKAGES = (0.1, 0.3, 0.7)
_CENTROIDS = (1, 3, 10, 20)
_EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_CLASS_CENTROIDS = (1, 3)
_CLASS_SHARES = (0.1, 0.3, 0.6)
_WIDE = 128
# Numbers from which on folds are tried beside each other: with fewer, threads wait for Python's lock.
_LARGE = 2**17
# Class-wise covariances of more features are fitted in so many directions.
_CLASS_WIDTH = 64


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model and, for every row it was fitted on, what models that had not seen the row say of it.

    ``linear_votes`` are the classes that the linear part alone prefers.
    """

    model: ScoringModel
    log_probabilities: Floats
    linear_votes: Integers


def fit_scoring_model(
    values: Floats,
    codes: Integers,
    classes: tuple[str, ...],
    *,
    min_group: int = 5,
    seed: int = 0,
    busy: Callable[[str], None] = lambda _: None,
) -> Fitted:
    """Fit shared, class and linear parts to scaled feature rows with class codes 0…K−1.

    No centroid or covariance of fewer than ``min_group`` rows is made; classes with fewer rows must be left out
    by the caller.
    """
    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) < 2 or counts.min() < max(min_group, 2):
        raise DataError("valuation.scoring-too-few-rows", least=max(min_group, 2), smallest=int(counts.min()))
    log_prior = np.log(counts / len(codes))
    fold = stratified_folds(codes, min(_FOLDS, int(counts.min())), seed=seed)
    folds = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(fold.max() + 1)]
    rows = TrainingRows.of(values, codes, len(classes))
    rounded = rows
    if rows.width > _WIDE:  # in single precision candidates are compared in half the time
        single = np.float32
        rounded = replace(rows, values=rows.values.astype(single), centred=rows.centred.astype(single))
    shared, by_class = try_everything(rounded, folds, min_group=min_group, seed=seed, busy=busy)
    busy("fitting the scoring model, its linear part")
    regressions = LogisticRegressions(rounded.values, codes, len(classes), [outside for _, outside in folds])
    slopes, offsets, potentials = best_linear(regressions, _STRENGTHS)

    parts, scales, biases, chosen = [], [], [], []
    linear: OutOfFold = {(): potentials}
    for tried, prior in ((shared, log_prior), (by_class, log_prior), (linear, np.zeros(len(classes)))):
        fits = {key: fit_temperature(one, prior, codes) for key, one in tried.items()}
        best = min(fits, key=lambda key: fits[key][1])
        scale, bias = fit_class_scales(tried[best], prior, codes, fits[best][0])
        parts.append(log_softmax(-scale * tried[best] + prior + bias, axis=1))
        scales.append(scale)
        biases.append(bias)
        chosen.append(best)
    blend = fit_blend(parts, codes)
    blended = log_softmax(np.sum([share * part for share, part in zip(blend, parts, strict=True)], axis=0), axis=1)

    busy("fitting the scoring model, all rows")
    (per_class, a, epsilon), (class_count, b), _ = chosen
    grouping = partial(grouped_by_class, codes=codes, min_group=min_group, seed=seed)
    metric, whitened = rows.metric, rows.whitened(CLASS_SHRINKAGE)
    directions = class_directions(whitened, codes, rows.variances, metric.level, rows.width)
    projected = rows.padded(whitened)
    if directions is not None:
        projected = project(whitened, directions.T)
        directions = rows.padded(directions.T).T
    groups = grouping(projected, most=class_count)
    coefficients = rows.padded(slopes) @ metric.directions.T
    model = ScoringModel(
        classes=classes,
        log_prior=log_prior,
        metric=metric,
        shrinkage=a,
        epsilon=epsilon,
        centroids=Centroids.of(rows.padded(rows.whitened(a)), codes, grouping(rows.whitened(a), most=per_class)),
        class_metric=ClassCovariances.of(projected, codes, groups, len(classes), directions).metric(b),
        coefficients=coefficients,
        offsets=offsets - coefficients @ metric.mean,
        scales=np.array(scales),
        biases=np.array(biases),
        blend=blend,
    )
    return Fitted(model, blended, np.argmin(potentials, axis=1))


def stratified_folds(codes: Integers, count: int, *, seed: int) -> Integers:
    """The fold of each row, so that all have about as many rows of each class: scikit-learn's `StratifiedKFold`.

    Examples
    --------
    >>> stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    array([1, 1, 0, 0, 0, 1])
    """
    random = np.random.RandomState(seed)
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[place]  # classes in the order in which they appear
    ordered, folds = np.sort(rank), np.empty(len(codes), dtype=np.int64)
    sizes = np.array([np.bincount(ordered[start::count], minlength=len(first)) for start in range(count)])
    for one in range(len(first)):
        own = np.arange(count).repeat(sizes[:, one])
        random.shuffle(own)
        folds[rank == one] = own
    return folds


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
    width: int

    @classmethod
    def of(cls, values: Floats, codes: Integers, classes: int) -> TrainingRows:
        """Find the directions of rows."""
        (rows, width), mean = values.shape, values.mean(axis=0)
        away, basis = values - mean, None
        if rows < width:  # in the order of their variances: they tell the rows' covariance and no row
            basis = np.linalg.qr(away.T)[0]
            along = away @ basis
            basis = basis @ principal(along.T @ along, 1.0, 1)[0]
            away = away @ basis
        centred = away - Centroids.of(away, codes, codes).points[codes]
        directions, variances, level = principal(centred.T @ centred, rows, width)
        everywhere, spread = directions, variances
        if basis is not None:
            # Directions that are missing are drawn at random from those that are left; twice, as what is left of the
            # first time is not quite orthogonal.
            known = basis @ directions
            drawn = np.random.default_rng(0).standard_normal((width, width - rows))
            for _ in range(2):
                drawn = np.linalg.qr(drawn - known @ (known.T @ drawn))[0]
            everywhere, spread = np.hstack([known, drawn]), np.append(variances, np.zeros(width - rows))
        metric = SharedMetric(mean, everywhere, spread, level)
        return cls(metric, away @ directions, centred @ directions, variances, codes, classes, width)

    def whitened(self, a: float) -> Floats:
        """The rows in the shrunk metric."""
        return np.asarray(self.values / shrunk(self.variances, self.metric.level, a))

    def padded(self, points: Floats) -> Floats:
        """Points along the rows' directions along all of the metric's, of which the rows' are the first."""
        return np.pad(points, ((0, 0), (0, self.width - points.shape[1])))


# Settings with the potentials of a fold's rows.
Tried = list[tuple[tuple[Any, ...], Floats]]
# Potentials of every row from folds without it, for each setting that was tried.
OutOfFold = dict[tuple[Any, ...], Floats]


def try_everything(
    rows: TrainingRows,
    folds: Sequence[tuple[Integers, Integers]],
    *,
    min_group: int,
    seed: int,
    busy: Callable[[str], None],
) -> tuple[OutOfFold, OutOfFold]:
    """Score the rows that each fold leaves out by all that is fitted to the others: in one metric, in one per class."""
    found: tuple[OutOfFold, OutOfFold] = ({}, {})
    grouping = partial(groupings_by_class, min_group=min_group, seed=seed)

    def try_fold(one: tuple[Integers, Integers]) -> tuple[Integers, Any, Any]:
        fold = _Fold.of(rows, *one)
        groups = dict(zip(_CENTROIDS, grouping(fold.whitened[fold.inside], fold.labels, _CENTROIDS), strict=True))
        return fold.outside, _by_one_metric(fold, groups, rows.classes), _by_class(fold, groups, grouping, rows.classes)

    with ThreadPoolExecutor(1 if rows.values.size < _LARGE else os.cpu_count() or 1) as pool:
        for number, (outside, *tried) in enumerate(pool.map(try_fold, folds), start=1):
            for where, own in zip(found, tried, strict=True):
                for key, potentials in own:
                    where.setdefault(key, np.zeros((len(rows.codes), rows.classes)))[outside] = potentials
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


def _by_one_metric(fold: _Fold, groups: Mapping[int, Integers], classes: int) -> Tried:
    """Centroids in one metric: the distances to all of them are one product for each shrinkage."""
    own, other, found = fold.rotated[fold.inside], fold.rotated[fold.outside], Tried()
    centroids = {most: Centroids.of(own, fold.labels, groups[most]) for most in _CENTROIDS}
    points = np.vstack([one.points for one in centroids.values()])
    ends = np.cumsum([len(one.points) for one in centroids.values()])[:-1]
    for a in _SHRINKAGES:
        spreads = shrunk(fold.variances, fold.level, a)
        costs = cost_matrix(other / spreads, points / spreads, 2)
        for most, part in zip(_CENTROIDS, np.split(costs, ends, axis=1), strict=True):
            epsilons = _EPSILONS if most > 1 else _EPSILONS[:1]
            minima = soft_minima(part, centroids[most], epsilons[::-1], classes)[::-1]
            found += [((most, a, epsilon), one) for epsilon, one in zip(epsilons, minima, strict=True)]
    return found


def _by_class(
    fold: _Fold, groups: Mapping[int, Integers], grouping: Callable[..., list[Integers]], classes: int
) -> Tried:
    """A metric for each class, in the whitened directions of all."""
    own, values, found = fold.whitened[fold.inside], fold.whitened, Tried()
    directions = class_directions(own, fold.labels, fold.variances, fold.level, own.shape[1] + fold.off)
    if directions is not None:
        values = project(fold.whitened, directions.T)
        own = values[fold.inside]
        groups = dict(zip(_CLASS_CENTROIDS, grouping(own, fold.labels, _CLASS_CENTROIDS), strict=True))
    for most in _CLASS_CENTROIDS:
        covariances = ClassCovariances.of(own, fold.labels, groups[most], classes, None)
        found += [((most, b), covariances.metric(b).potentials(values[fold.outside])) for b in _CLASS_SHARES]
    return found


def soft_minima(costs: Floats, centroids: Centroids, epsilons: Sequence[float], classes: int) -> list[Floats]:
    """`Centroids.potentials` for several ε, from the largest down: where ε is halved, the terms are squared."""
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


def principal(scatter: Floats, rows: float, width: int) -> tuple[Floats, Floats, float]:
    """Directions, variances and their mean over ``width`` features, of a within-class scatter of some rows."""
    variances, directions = eigh(scatter / rows, driver="evd", overwrite_a=True, check_finite=False)
    variances = np.maximum(variances, 0.0)
    return directions, variances, max(float(variances.sum()) / width, 1e-12)


def class_directions(
    whitened: Floats, codes: Integers, variances: Floats, level: float, features: int
) -> Floats | None:
    """Principal directions of whitened rows of many features; None where all directions are kept.

    What is left of the variances inside classes is independent: what is added are the classes' means.
    """
    if features <= _WIDE:
        return None
    within = variances / shrunk(variances, level, CLASS_SHRINKAGE) ** 2
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
