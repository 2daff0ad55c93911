"""The model that a client receives: a linear discriminant, or a ridge regression, made of the others' cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.repair import repaired
from fedbary.space.schema import Schema
from fedbary.valuation.scoring import ScoringModel
from fedbary.valuation.scoring.components import SharedMetric
from fedbary.valuation.scoring.line import Line
from fedbary.valuation.scoring.mixture import Centroids

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Shrinkage of the covariance: more for labels, where class means are noisy, than for odd features.
SHRINKAGE, FEATURE_SHRINKAGE = 0.1, 0.01
# Rows of the grand mean that each class mean is shrunk by.
_PSEUDO_ROWS = 2.0
# Penalty of the ridge regression, in rows of unit variance.
_RIDGE = 1.0


@dataclass(frozen=True, eq=False)
class Discriminant:
    """Class means (K, d), one covariance inside classes (d, d), and how many rows each class has."""

    counts: Floats
    means: Floats
    covariance: Floats

    @cached_property
    def metric(self) -> SharedMetric:
        """The covariance as directions and their spreads."""
        variances, directions = np.linalg.eigh((self.covariance + self.covariance.T) / 2.0)
        variances = np.maximum(variances, 0.0)
        mean = self.counts @ self.means / max(float(self.counts.sum()), 1e-12)
        return SharedMetric(mean, directions, variances, max(float(variances.mean()), 1e-12))


def discriminant(total: ClassMoments) -> Discriminant:
    """A linear discriminant of the rows behind moments; where noise was added, repaired by what is known of it."""
    if total.noise != EXACT:
        return Discriminant(*repaired(total))
    rows, classes = max(total.rows, 1e-12), int((total.counts > 0).sum())
    grand = total.sums.sum(axis=0) / rows
    means = (total.sums + _PSEUDO_ROWS * grand) / (total.counts + _PSEUDO_ROWS)[:, None]
    within = total.within() / max(rows - classes, 1.0)
    return Discriminant(total.counts, means, within if total.full else np.diag(within))


def scoring_model(found: Discriminant, classes: tuple[str, ...], temperature: float) -> ScoringModel:
    """What a client scores its rows with: log p(c|x) = −T·½‖x − μ_c‖² + log prior, in the discriminant's metric."""
    metric, count = found.metric, len(classes)
    shares = (found.counts + 1.0) / (found.counts + 1.0).sum()
    codes = np.arange(count)
    return ScoringModel(
        classes=classes,
        log_prior=np.log(shares),
        metric=metric,
        shrinkage=SHRINKAGE,
        epsilon=2.0,
        centroids=Centroids(metric.whiten(found.means, SHRINKAGE), codes, np.ones(count)),
        feature_shrinkage=FEATURE_SHRINKAGE,
        feature_centroids=Centroids(metric.whiten(found.means, FEATURE_SHRINKAGE), codes, shares),
        feature_centre=np.zeros(count),
        feature_scale=np.ones(count),
        class_metric=None,
        coefficients=np.zeros((0, found.means.shape[1])),
        offsets=np.zeros(0),
        scales=np.full((1, count), temperature / 2.0),
        biases=temperature / 2.0 * _uncertainty(found)[None],
        blend=np.ones(1),
    )


def _uncertainty(found: Discriminant) -> Floats:
    """By how much rows seem farther from each class mean than they are, as the mean of few rows is not the class's."""
    variances, level = found.metric.variances, found.metric.level
    spread = float((variances / ((1.0 - SHRINKAGE) * variances + SHRINKAGE * level)).sum())
    return np.asarray(spread * found.counts / (found.counts + _PSEUDO_ROWS) ** 2)


def line_model(total: ClassMoments, schema: Schema) -> tuple[Line, ScoringModel]:
    """What a label that is a number should be, and where rows should lie: ridge regression on the moments.

    The label is the last coordinate, standardised by the schema.
    """
    found = discriminant(total)
    mean, covariance = found.means[0], found.covariance
    width = len(mean) - 1
    inside, across = covariance[:width, :width], covariance[:width, -1]
    level = max(float(np.trace(inside)) / max(width, 1), 1e-12)
    penalty = (_RIDGE / max(total.rows, 1.0) + 1e-9) * level
    slope = np.linalg.solve(inside + penalty * np.eye(width), across)
    left = float(covariance[-1, -1] - 2.0 * slope @ across + slope @ inside @ slope)
    # A line of d numbers leaves less of the rows that it was fitted on than of others.
    left *= max(total.rows, 1.0) / max(total.rows - width - 1.0, 1.0)
    scale = schema.label.scale
    offset = schema.label.mean + scale * float(mean[-1] - slope @ mean[:width])
    spread = scale * float(np.sqrt(max(left, 1e-12)))
    features = Discriminant(found.counts, found.means[:, :width], inside)
    return Line(np.asarray(scale * slope, dtype=np.float64), offset, spread), scoring_model(features, ("",), 1.0)


def restricted(moments: ClassMoments, known: Bools) -> ClassMoments:
    """The moments of some classes alone; the scatter inside the others is left out in proportion to their rows."""
    if known.all():
        return moments
    kept = ClassMoments(moments.counts[known], moments.sums[known], np.zeros_like(moments.second), moments.noise)
    within = moments.within() * (kept.rows / max(moments.rows, 1e-12))
    return ClassMoments(kept.counts, kept.sums, within - kept.within(), moments.noise)
