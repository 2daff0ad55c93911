"""The scoring model of a federation without clean rows: centroids and one covariance, of the other clients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.scoring import ScoringModel
from fedbary.valuation.scoring.components import SharedMetric
from fedbary.valuation.scoring.mixture import Centroids

Floats = NDArray[np.float64]

# Shrinkage of the covariance: more for labels, where the classes' means are noisy, than for odd features.
_SHRINKAGE, _FEATURE_SHRINKAGE = 0.3, 0.1


@dataclass(frozen=True, eq=False)
class ScoredSums:
    """What all clients said: counts and weights (i, c), centroids (i, s, d), covariances inside classes (i: d, d).

    ``class_of`` is the class of each centroid s. A client without weight is not used.
    """

    classes: tuple[str, ...]
    class_of: NDArray[np.int64]
    counts: Floats
    weights: Floats
    centroids: Floats
    within: list[Floats]


def leave_one_out(sums: ScoredSums, left_out: int) -> dict[str, np.ndarray]:
    """Arrays of the model that scores the rows of client ``left_out``, in which it has no part.

    A centroid is the weighted mean, over the other clients, of their rows behind a support point, in scored
    features: so it exists whatever projection the schema has, and any client can be left out exactly. With ε = 2
    and scale ½ the calibrated potential is the log-density of a mixture of Gaussians with one covariance. Empty
    where the other clients have fewer than two classes.
    """
    weights = sums.weights.copy()
    weights[left_out] = 0.0
    known = np.flatnonzero(weights.sum(axis=0) > 0)
    if len(known) < 2:
        return {}
    others = np.flatnonzero(weights.sum(axis=1))
    trust = weights[others].sum(axis=1)
    kept = np.isin(sums.class_of, known)
    codes = np.searchsorted(known, sums.class_of[kept])
    share = weights[others][:, sums.class_of[kept]]
    points = np.einsum("is,isd->sd", share / share.sum(axis=0), sums.centroids[others][:, kept])
    within = np.asarray(sum(t * sums.within[i] for t, i in zip(trust, others, strict=True))) / trust.sum()
    prior = class_shares(sums.counts[others][:, known])
    inside = 1.0 / np.bincount(codes)[codes]
    metric = _metric((prior[codes] * inside) @ points, within)
    model = ScoringModel(
        classes=tuple(sums.classes[code] for code in known),
        log_prior=np.log(prior),
        metric=metric,
        shrinkage=_SHRINKAGE,
        epsilon=2.0,
        centroids=Centroids(metric.whiten(points, _SHRINKAGE), codes, inside),
        feature_shrinkage=_FEATURE_SHRINKAGE,
        feature_centroids=Centroids(metric.whiten(points, _FEATURE_SHRINKAGE), codes, inside * prior[codes]),
        feature_centre=np.zeros(len(known)),  # no rows are known to be clean: the profiles of scores do this
        feature_scale=np.ones(len(known)),
        class_metric=None,
        coefficients=np.zeros((0, points.shape[1])),
        offsets=np.zeros(0),
        scales=np.full((1, len(known)), 0.5),
        biases=np.zeros((1, len(known))),
        blend=np.ones(1),
    )
    return {f"model.{key}": array for key, array in model.to_arrays().items()}


def class_shares(counts: Floats) -> Floats:
    """Mean over clients of their class shares, each client counting the same."""
    totals = counts.sum(axis=1)
    shares = (counts[totals > 0] / totals[totals > 0, None]).mean(axis=0)
    return np.asarray(shares / shares.sum())


def _metric(mean: Floats, within: Floats) -> SharedMetric:
    variances, directions = np.linalg.eigh((within + within.T) / 2.0)
    variances = np.maximum(variances, 0.0)
    return SharedMetric(mean, directions, variances, max(float(variances.mean()), 1e-12))
