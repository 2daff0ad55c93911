"""Fitting the scoring model on the server's rows: every choice by cross-validated log-loss, no client involved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.errors import DataError
from fedbary.transport.cost import cost_matrix
from fedbary.valuation.scoring.calibration import (
    fit_blend,
    fit_class_scales,
    fit_temperature,
    log_loss,
)
from fedbary.valuation.scoring.components import (
    CLASS_SHRINKAGE,
    SharedMetric,
    class_directions,
    fit_class_metric,
    fit_linear,
    shared_metric,
)
from fedbary.valuation.scoring.mixture import Centroids, grouped_by_class, soft_minimum
from fedbary.valuation.scoring.model import ScoringModel, feature_potential

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FOLDS = 5
_SHRINKAGES = (0.1, 0.3, 0.7)
_CENTROIDS = (1, 3, 10, 20)
_EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_CLASS_CENTROIDS = (1, 3)
_CLASS_SHARES = (0.1, 0.3, 0.6)
_STRENGTHS = tuple(10.0 ** np.arange(-4, 2))
_FEATURE_SHRINKAGES = (0.02, 0.05, 0.1, 0.3)
_FEATURE_CENTROIDS = 10
_ENOUGH_TO_SCALE = 20


@dataclass(frozen=True, eq=False)
class Fitted:
    """The model and, for every row it was fitted on, what models that had not seen the row say of it.

    ``linear_votes`` are the classes that the linear part alone prefers.
    """

    model: ScoringModel
    log_probabilities: Floats
    feature_scores: Floats
    linear_votes: Integers


@dataclass(eq=False)
class _OutOfFold:
    """Potentials of every row from folds without it, for every candidate."""

    rows: int
    classes: int
    shared: dict[tuple[int, float, float], Floats] = field(default_factory=dict)
    by_class: dict[tuple[int, float], Floats] = field(default_factory=dict)
    linear: dict[float, Floats] = field(default_factory=dict)
    feature: dict[float, Floats] = field(default_factory=dict)
    feature_density: dict[float, Floats] = field(default_factory=dict)

    def put(self, where: dict, key: object, rows: Integers, values: Floats) -> None:  # type: ignore[type-arg]
        shape = (self.rows,) if values.ndim == 1 else (self.rows, self.classes)
        where.setdefault(key, np.zeros(shape))[rows] = values


def fit_scoring_model(
    values: Floats,
    codes: Integers,
    classes: tuple[str, ...],
    *,
    copies: Integers | None = None,
    min_group: int = 5,
    seed: int = 0,
    busy: Callable[[str], None] = lambda _: None,
) -> Fitted:
    """Fit shared, class and linear parts to scaled feature rows with class codes 0…K−1.

    No centroid or covariance of fewer than ``min_group`` rows is made; classes with fewer rows must be left out
    by the caller. Where ``copies`` gives equal rows the same number, the model's groups count different rows.
    """
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(codes, minlength=len(classes))
    if len(classes) < 2 or counts.min() < max(min_group, 2):
        raise DataError("valuation.scoring-too-few-rows", least=max(min_group, 2), smallest=int(counts.min()))
    log_prior = np.log(counts / len(codes))
    found = _OutOfFold(len(codes), len(classes))
    folds = StratifiedKFold(min(_FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    for number, (inside, outside) in enumerate(folds.split(values, codes), start=1):
        busy(f"fitting the scoring model, fold {number} of {folds.n_splits}")
        _try_everything(found, values, codes, inside=inside, outside=outside, min_group=min_group, seed=seed)

    chosen = _choose(found, log_prior, codes)
    looks = chosen.log_probabilities.argmax(axis=1)
    centre, scale = class_spread(found.feature[chosen.feature], looks, len(classes))
    busy("fitting the scoring model, all rows")
    (per_class, a, epsilon), (class_count, b), strength = chosen.shared, chosen.by_class, chosen.linear
    metric = shared_metric(values, codes)
    rotated = metric.rotate(values)
    whitened = metric.rescale(rotated, CLASS_SHRINKAGE)
    centroids, feature_centroids = (
        Centroids.of(space, codes, grouped_by_class(space, codes, most, copies=copies, min_group=min_group, seed=seed))
        for space, most in (
            (metric.rescale(rotated, a), per_class),
            (metric.rescale(rotated, chosen.feature), _FEATURE_CENTROIDS),
        )
    )
    coefficients, offsets = fit_linear(values, codes, len(classes), (strength,))[0]
    model = ScoringModel(
        classes=classes,
        log_prior=log_prior,
        metric=metric,
        shrinkage=a,
        epsilon=epsilon,
        centroids=centroids,
        feature_shrinkage=chosen.feature,
        feature_centroids=feature_centroids.weighted(log_prior),
        feature_centre=centre,
        feature_scale=scale,
        class_metric=fit_class_metric(
            whitened,
            codes,
            len(classes),
            class_directions(whitened),
            per_class=class_count,
            b=b,
            copies=copies,
            min_group=min_group,
            seed=seed,
        ),
        coefficients=coefficients,
        offsets=offsets,
        scales=np.array([scale for scale, _ in chosen.calibrations]),
        biases=np.array([bias for _, bias in chosen.calibrations]),
        blend=chosen.blend,
    )
    features = (found.feature[chosen.feature] - centre[looks]) / scale[looks]
    return Fitted(model, chosen.log_probabilities, features, np.argmin(found.linear[strength], axis=1))


def class_spread(potentials: Floats, codes: Integers, classes: int) -> tuple[Floats, Floats]:
    """Median and upper spread of potentials in each class; classes with few rows take those of all rows."""
    middle, high = np.quantile(potentials, [0.5, 0.9])
    centre, scale = np.full(classes, middle), np.full(classes, high - middle)
    for code in range(classes):
        mine = potentials[codes == code]
        if len(mine) >= _ENOUGH_TO_SCALE:
            centre[code], top = np.quantile(mine, [0.5, 0.9])
            scale[code] = top - centre[code]
    return centre, np.maximum(scale, 1e-9 * max(float(high - middle), 1e-12))


def _try_everything(
    found: _OutOfFold,
    values: Floats,
    codes: Integers,
    *,
    inside: Integers,
    outside: Integers,
    min_group: int,
    seed: int,
) -> None:
    own, labels, other = values[inside], codes[inside], values[outside]
    metric = shared_metric(own, labels)
    rotated, other_rotated = metric.rotate(own), metric.rotate(other)
    basis, other_basis = (metric.rescale(values, CLASS_SHRINKAGE) for values in (rotated, other_rotated))
    for per_class in _CENTROIDS:
        groups = grouped_by_class(basis, labels, per_class, min_group=min_group, seed=seed)
        for a in _SHRINKAGES:
            centroids = Centroids.of(metric.rescale(rotated, a), labels, groups)
            costs = cost_matrix(metric.rescale(other_rotated, a), centroids.points, 2)
            for epsilon in _EPSILONS if per_class > 1 else _EPSILONS[:1]:
                potentials = soft_minimum(costs, centroids, epsilon, found.classes)
                found.put(found.shared, (per_class, a, epsilon), outside, potentials)
        if per_class == _FEATURE_CENTROIDS:
            _try_feature_scores(
                found, metric, rotated, labels, groups=groups, other_rotated=other_rotated, outside=outside
            )
    directions = class_directions(basis)
    for per_class in _CLASS_CENTROIDS:
        for b in _CLASS_SHARES:
            part = fit_class_metric(
                basis, labels, found.classes, directions, per_class=per_class, b=b, min_group=min_group, seed=seed
            )
            found.put(found.by_class, (per_class, b), outside, part.potentials(other_basis))
    for strength, (coefficients, offsets) in zip(
        _STRENGTHS, fit_linear(own, labels, found.classes, _STRENGTHS), strict=True
    ):
        found.put(found.linear, strength, outside, -(other @ coefficients.T + offsets))


def _try_feature_scores(
    found: _OutOfFold,
    metric: SharedMetric,
    rotated: Floats,
    labels: Integers,
    *,
    groups: Integers,
    other_rotated: Floats,
    outside: Integers,
) -> None:
    log_prior = np.log(np.maximum(np.bincount(labels, minlength=found.classes), 1) / len(labels))
    for a in _FEATURE_SHRINKAGES:
        centroids = Centroids.of(metric.rescale(rotated, a), labels, groups).weighted(log_prior)
        scores = feature_potential(metric.rescale(other_rotated, a), centroids)
        found.put(found.feature, a, outside, scores)
        # The density of held-out rows, whose volume term the score itself does not need.
        volume = np.log((1.0 - a) * metric.variances + a * metric.level).sum()
        found.put(found.feature_density, a, outside, scores + volume)


@dataclass(frozen=True, eq=False)
class _Chosen:
    shared: tuple[int, float, float]
    by_class: tuple[int, float]
    linear: float
    feature: float
    calibrations: list[tuple[Floats, Floats]]
    blend: Floats
    log_probabilities: Floats


def _choose(found: _OutOfFold, log_prior: Floats, codes: Integers) -> _Chosen:
    flat = np.zeros_like(log_prior)
    shared, shared_t = _best(found.shared, log_prior, codes)
    by_class, class_t = _best(found.by_class, log_prior, codes)
    linear = min(found.linear, key=lambda c: log_loss(log_softmax(-found.linear[c], axis=1), codes))
    linear_t = fit_temperature(found.linear[linear], flat, codes)[0]
    parts, calibrations = [], []
    for potentials, prior, t in (
        (found.shared[shared], log_prior, shared_t),
        (found.by_class[by_class], log_prior, class_t),
        (found.linear[linear], flat, linear_t),
    ):
        scale, bias = fit_class_scales(potentials, prior, codes, t)
        calibrations.append((scale, bias))
        parts.append(log_softmax(-scale * potentials + prior + bias, axis=1))
    blend = fit_blend(parts, codes)
    blended = log_softmax(np.sum([a * part for a, part in zip(blend, parts, strict=True)], axis=0), axis=1)
    feature = min(found.feature_density, key=lambda a: float(found.feature_density[a].mean()))
    return _Chosen(shared, by_class, linear, feature, calibrations, blend, blended)


def _best(candidates: dict, log_prior: Floats, codes: Integers) -> tuple:  # type: ignore[type-arg]
    fits = {key: fit_temperature(potentials, log_prior, codes) for key, potentials in candidates.items()}
    best = min(fits, key=lambda key: fits[key][1])
    return best, fits[best][0]
