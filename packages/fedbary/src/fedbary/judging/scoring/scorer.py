"""`Scorer`: a scoring model at work on the parts of a table, here or on a GPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays, arrays_for
from fedbary.compute.arrays import moved, squared_distances
from fedbary.judging.scoring.components import CLASS_SHRINKAGE, ClassMetric, SharedMetric
from fedbary.judging.scoring.mixture import Centroids
from fedbary.judging.scoring.model import ScoringModel

Floats = NDArray[np.float64]


class Scorer:
    """Log-probabilities of many rows, see `ScoringModel.scores`; in the model's own precision.

    Parameters
    ----------
    model : ScoringModel
        The model.
    rows : int
        How many rows there will be, all parts together: a GPU is worth its start only where they are many.
    """

    def __init__(self, model: ScoringModel, rows: int) -> None:
        self.model = model
        self._xp = arrays_for(float(rows) * model.products)
        self._moved = moved(model, self._xp)

    def __call__(self, values: Floats) -> Floats:
        """Log p(c|x) of the rows of a part."""
        if self._xp is NUMPY:
            return self.model.scores(values)
        rows = self._xp.asarray(values, self.model.metric.mean.dtype.type)
        return self._xp.numpy(scores_on(self._xp, self._moved, rows))


def scores_on(xp: Arrays, model: ScoringModel, values: Array) -> Array:
    """What `Scorer` gives, where the model's arrays and the rows are of the library ``xp``."""
    rotated = _rotated(xp, model.metric, values)
    found = [(_shared_potentials(xp, model, rotated), model.log_prior)]
    if model.class_metric is not None:
        whitened = rotated / _spreads(xp, model.metric, CLASS_SHRINKAGE)
        found.append((_class_potentials(xp, model.class_metric, whitened), model.log_prior))
    if len(model.coefficients):
        found.append((-(values @ model.coefficients.T + model.offsets), 0.0 * model.log_prior))
    blended = 0.0
    for (potential, prior), scale, bias, share in zip(found, model.scales, model.biases, model.blend, strict=True):
        blended = blended + share * xp.log_softmax(-scale * potential + prior + bias)
    return xp.log_softmax(blended)


def _rotated(xp: Arrays, metric: SharedMetric, values: Array) -> Array:
    return _along(xp, values - metric.mean, metric.directions)


def _along(xp: Arrays, values: Array, directions: Array) -> Array:
    """Coordinates along directions (columns), and the length of what these leave out, if anything."""
    along = values @ directions
    if directions.shape[0] == directions.shape[1]:
        return along
    lost = (values**2).sum(axis=1) - (along**2).sum(axis=1)
    return xp.column_stack([along, xp.sqrt(xp.clip(lost, 0.0, None))])


def _spreads(xp: Arrays, metric: SharedMetric, a: float) -> Array:
    """Standard deviations of the rotated coordinates, shrunk; off the directions there is no variance."""
    along = (1.0 - a) * metric.variances + a * metric.level
    if metric.directions.shape[0] == metric.directions.shape[1]:
        return xp.sqrt(along)
    return xp.sqrt(xp.concatenate([along, along[:1] * 0.0 + a * metric.level]))


def _shared_potentials(xp: Arrays, model: ScoringModel, rotated: Array) -> Array:
    whitened = rotated / _spreads(xp, model.metric, model.shrinkage)
    return _by_class(xp, whitened, model.centroids, model.epsilon, len(model.classes))


def _class_potentials(xp: Arrays, metric: ClassMetric, whitened: Array) -> Array:
    values = whitened if metric.directions is None else _along(xp, whitened, metric.directions)
    potentials = xp.filled((len(values), len(metric.roots)), float("inf"))
    for code, root in enumerate(metric.roots):
        mine = metric.centroids.classes == code
        if mine.any():
            points, weights = metric.centroids.points[mine] @ root, metric.centroids.weights[mine]
            found = _soft_minimum(xp, values @ root, points, weights, 2.0)
            potentials[:, code] = found / 2.0 + metric.log_determinants[code]
    return potentials


def _by_class(xp: Arrays, whitened: Array, centroids: Centroids, epsilon: float, classes: int) -> Array:
    potentials = xp.filled((len(whitened), classes), float("inf"))
    for code in range(classes):
        mine = centroids.classes == code
        if mine.any():
            found = _soft_minimum(xp, whitened, centroids.points[mine], centroids.weights[mine], epsilon)
            potentials[:, code] = found
    return potentials


def _soft_minimum(xp: Arrays, values: Array, points: Array, weights: Array, epsilon: float) -> Array:
    """−ε·log Σ_s w_s·exp(−‖x − z_s‖²/ε)."""
    exponents = squared_distances(values, points, xp)
    exponents /= -epsilon
    exponents += xp.log(weights)
    return -epsilon * xp.log_sum_exp(exponents)
