"""Fitting the scoring model on the server's rows: every choice by cross-validated log-loss, no client involved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.errors import DataError
from fedbary.judging.scoring.calibration import (
    fit_blend,
    fit_class_scales,
    fit_temperature,
    log_loss,
)
from fedbary.judging.scoring.candidates import OutOfFold, TrainingRows, try_everything
from fedbary.judging.scoring.components import (
    CLASS_SHRINKAGE,
    ClassCovariances,
    class_directions,
    whitened_variances,
)
from fedbary.judging.scoring.linear import LogisticRegressions, best_linear
from fedbary.judging.scoring.mixture import Centroids, grouped_by_class
from fedbary.judging.scoring.model import ScoringModel
from fedbary.space.encode import project

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FOLDS = 5
_STRENGTHS = tuple(10.0 ** np.arange(-4, 2))


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
    rounded = rows.rounded()
    found = try_everything(rounded, folds, min_group=min_group, seed=seed, busy=busy)
    busy("fitting the scoring model, its linear part")
    regressions = LogisticRegressions(rounded.values, codes, len(classes), [outside for _, outside in folds])
    linear = best_linear(regressions, _STRENGTHS, lambda potentials: log_loss(log_softmax(-potentials, axis=1), codes))

    chosen = _choose(found, linear.potentials, log_prior, codes)
    busy("fitting the scoring model, all rows")
    (per_class, a, epsilon), (class_count, b) = chosen.shared, chosen.by_class
    grouping = partial(grouped_by_class, codes=codes, min_group=min_group, seed=seed)
    shared = rows.whitened(a)
    centroids = Centroids.of(rows.padded(shared), codes, grouping(shared, most=per_class))
    metric, whitened = rows.metric, rows.whitened(CLASS_SHRINKAGE)
    directions = class_directions(whitened, codes, whitened_variances(rows.variances, metric.level), rows.width)
    projected = rows.padded(whitened)
    if directions is not None:
        projected = project(whitened, directions.T)
        directions = rows.padded(directions.T).T
    by_class = ClassCovariances.of(projected, codes, grouping(projected, most=class_count), len(classes), directions)
    coefficients = rows.padded(linear.coefficients) @ metric.directions.T
    model = ScoringModel(
        classes=classes,
        log_prior=log_prior,
        metric=metric,
        shrinkage=a,
        epsilon=epsilon,
        centroids=centroids,
        class_metric=by_class.metric(b),
        coefficients=coefficients,
        offsets=linear.offsets - coefficients @ metric.mean,
        scales=np.array([scale for scale, _ in chosen.calibrations]),
        biases=np.array([bias for _, bias in chosen.calibrations]),
        blend=chosen.blend,
    )
    return Fitted(model, chosen.log_probabilities, np.argmin(linear.potentials, axis=1))


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
class _Chosen:
    shared: tuple[int, float, float]
    by_class: tuple[int, float]
    calibrations: list[tuple[Floats, Floats]]
    blend: Floats
    log_probabilities: Floats


def _choose(found: OutOfFold, linear: Floats, log_prior: Floats, codes: Integers) -> _Chosen:
    flat = np.zeros_like(log_prior)
    shared, shared_t = _best(found.shared, log_prior, codes)
    by_class, class_t = _best(found.by_class, log_prior, codes)
    linear_t = fit_temperature(linear, flat, codes)[0]
    parts, calibrations = [], []
    for potentials, prior, t in (
        (found.shared[shared], log_prior, shared_t),
        (found.by_class[by_class], log_prior, class_t),
        (linear, flat, linear_t),
    ):
        scale, bias = fit_class_scales(potentials, prior, codes, t)
        calibrations.append((scale, bias))
        parts.append(log_softmax(-scale * potentials + prior + bias, axis=1))
    blend = fit_blend(parts, codes)
    blended = log_softmax(np.sum([a * part for a, part in zip(blend, parts, strict=True)], axis=0), axis=1)
    return _Chosen(shared, by_class, calibrations, blend, blended)


def _best(candidates: dict, log_prior: Floats, codes: Integers) -> tuple:  # type: ignore[type-arg]
    fits = {key: fit_temperature(potentials, log_prior, codes) for key, potentials in candidates.items()}
    best = min(fits, key=lambda key: fits[key][1])
    return best, fits[best][0]
