"""`ScoringModel`: p(label | features), fitted by the server on its rows so that a client can score its rows at home.

Scores are computed by one code, with NumPy here or with PyTorch on a GPU.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays, arrays_for
from fedbary.compute.arrays import centred_distances, moved
from fedbary.compute.device import map_by_all_cores
from fedbary.errors import ProtocolError
from fedbary.strict_json import read_json

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A model is a few matrices; a larger one is not what a server of this protocol sends.
MAX_BYTES = 256 * 2**20
# Rows that are scored at once: what they become on the way stays in the processor's cache.
_BLOCK = 8192
# Of each row at each centroid, class or direction: four gigabytes of the rows that are in memory together, and of all
# rows what takes some minutes.
_PART, _MOST_IN_MEMORY, _MOST_NUMBERS = 65_536, 2**29, 2**33
# Whitening in which class-wise covariances are fitted and centroids are grouped.
CLASS_SHRINKAGE = 0.3


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

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        return {f"{name}.points": self.points, f"{name}.classes": self.classes, f"{name}.weights": self.weights}

    @classmethod
    def from_arrays(cls, name: str, arrays: Mapping[str, np.ndarray]) -> Centroids:
        points, classes, weights = (arrays[f"{name}.{part}"] for part in ("points", "classes", "weights"))
        return cls(points, classes.astype(np.int64), weights)

    def potentials(self, whitened: Array, epsilon: float, classes: int, xp: Arrays = NUMPY) -> Array:
        """pot_c(x) = −ε·log Σ_{s∈c} w_s·exp(−‖x − z_s‖²/ε), one column per class (DESIGN 2.6)."""
        costs = _costs(self.points, whitened, xp)
        found = xp.filled((classes, len(whitened)), float("inf"))
        for code in range(classes):
            mine = self.classes == code
            if mine.any():
                found[code] = _soft_minimum(costs[mine], self.weights[mine], epsilon, xp)
        return found.T


@dataclass(frozen=True, eq=False)
class SharedMetric:
    """Whitening by the within-class covariance (1 − a)·Σ + a·tr/d·I, kept as directions and their spreads."""

    mean: Floats
    directions: Floats
    variances: Floats
    level: float

    def rotate(self, values: Array) -> Array:
        """Coordinates along the directions: the costly part of whitening, the same for every ``a``."""
        return (values - self.mean) @ self.directions

    def rescale(self, rotated: Array, a: float) -> Array:
        """Coordinates in which the shrunk within-class covariance is the identity."""
        return rotated / shrunk(self.variances, self.level, a)


def shrunk(variances: Array, level: float, a: float) -> Array:
    """Standard deviations of (1 − a)·Σ + a·level·I along the directions of Σ."""
    return ((1.0 - a) * variances + a * level) ** 0.5


@dataclass(frozen=True, eq=False)
class ClassMetric:
    """Gaussian mixtures with a covariance per class, in at most 64 whitened directions and a residual."""

    directions: Floats | None
    centroids: Centroids
    roots: Floats
    log_determinants: Floats

    def potentials(self, whitened: Array, xp: Arrays = NUMPY) -> Array:
        """−log-density of each class, up to a common constant."""
        values = whitened
        if self.directions is not None:
            along = values @ self.directions
            lost = (values**2).sum(axis=1) - (along**2).sum(axis=1)
            values = xp.column_stack([along, xp.sqrt(xp.clip(lost, 0.0, None))])
        found = xp.filled((len(self.roots), len(values)), float("inf"))
        for code, (points, weights) in self._own.items():
            costs = _costs(points, values @ self.roots[code], xp)
            found[code] = _soft_minimum(costs, weights, 2.0, xp) / 2.0 + self.log_determinants[code]
        return found.T

    @cached_property
    def _own(self) -> dict[int, tuple[Array, Array]]:
        """The centroids of each class in its metric, and their weights."""
        mine = [self.centroids.classes == code for code in range(len(self.roots))]
        return {
            code: (self.centroids.points[own] @ self.roots[code], self.centroids.weights[own])
            for code, own in enumerate(mine)
            if own.any()
        }


def _costs(points: Array, values: Array, xp: Arrays) -> Array:
    """Squared distances, a line for each point: sums over few points are sums of long vectors."""
    centre = points.mean(axis=0)
    values = values - centre
    return centred_distances(points - centre, values, xp.einsum("ij,ij->i", values, values), xp)


def _soft_minimum(costs: Array, weights: Array, epsilon: float, xp: Arrays) -> Array:
    """−ε·log Σ_s w_s·exp(−cost_s/ε); the costs are overwritten."""
    least = xp.amin(costs, 0)
    costs -= least
    costs /= -epsilon
    return least - epsilon * xp.log(weights @ xp.exp(costs, out=costs))


@dataclass(frozen=True, eq=False)
class ScoringModel:
    """Class probabilities p(c|x) from centroids, covariances and a linear model.

    log p(c|x) is the normalised sum Σ_r α_r·log p_r over up to three parts (DESIGN 2.6): *shared* (soft minimum
    of the distance to centroids in one metric), *class* (a metric per class) and *linear*; each is calibrated as
    −scale_c·potential_c + log π_c + offset_c.

    Everything is arrays: no code and no pickle travels.
    """

    classes: tuple[str, ...]
    log_prior: Floats
    metric: SharedMetric
    shrinkage: float
    epsilon: float
    centroids: Centroids
    class_metric: ClassMetric | None
    coefficients: Floats
    offsets: Floats
    scales: Floats
    biases: Floats
    blend: Floats

    def scores(self, values: Floats) -> Floats:
        """Log-probabilities log p(c|x), one column per class, for rows of scaled features."""
        self.require_affordable(len(values))
        starts = range(0, max(len(values), 1), _BLOCK)
        found = map_by_all_cores(lambda start: self.scores_on(values[start : start + _BLOCK]), starts)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def scores_on(self, values: Array, xp: Arrays = NUMPY) -> Array:
        """The same where the model's arrays and the rows are of the library ``xp``."""
        rotated = self.metric.rotate(values)
        whitened = self.metric.rescale(rotated, self.shrinkage)
        # Densities need the class prior, the linear part has learnt it.
        parts = [(self.centroids.potentials(whitened, self.epsilon, len(self.classes), xp), self.log_prior)]
        if self.class_metric is not None:
            whitened = self.metric.rescale(rotated, CLASS_SHRINKAGE)
            parts.append((self.class_metric.potentials(whitened, xp), self.log_prior))
        if len(self.coefficients):
            parts.append((-(values @ self.coefficients.T + self.offsets), 0.0 * self.log_prior))
        blended = 0.0
        for (potential, prior), scale, bias, share in zip(parts, self.scales, self.biases, self.blend, strict=True):
            blended = blended + share * xp.log_softmax(-scale * potential + prior + bias)
        return xp.log_softmax(blended)

    def in_single(self) -> ScoringModel:
        """The same model in single precision: in half the time it gives scores that are off by some 1e-5."""
        arrays = {
            name: array.astype(np.float32) if array.dtype.kind == "f" and name != "numbers" else array
            for name, array in self.to_arrays().items()
        }
        return ScoringModel.from_arrays(arrays)

    def require_affordable(self, rows: int) -> None:
        """Refuse a model that is too large for so many rows: for the memory, or for the time and the disk."""
        # Most numbers that a row becomes on the way to its scores.
        centroids = [self.centroids] if self.class_metric is None else [self.centroids, self.class_metric.centroids]
        widest = max(len(self.classes), self.metric.directions.shape[-1], *(len(one.points) for one in centroids))
        if min(rows, _PART) * widest > _MOST_IN_MEMORY or rows * widest > _MOST_NUMBERS:
            raise ProtocolError("valuation.scoring-model-too-large-for-rows", rows=rows)

    def to_arrays(self) -> dict[str, np.ndarray]:
        arrays = {
            "classes": np.frombuffer(json.dumps(self.classes).encode("utf-8"), dtype=np.uint8).copy(),
            "numbers": np.array([self.shrinkage, self.epsilon, self.metric.level]),
            "log_prior": self.log_prior,
            "mean": self.metric.mean,
            "directions": self.metric.directions,
            "variances": self.metric.variances,
            "coefficients": self.coefficients,
            "offsets": self.offsets,
            "scales": self.scales,
            "biases": self.biases,
            "blend": self.blend,
            **self.centroids.to_arrays("shared"),
        }
        if self.class_metric is not None:
            arrays |= self.class_metric.centroids.to_arrays("class")
            arrays |= {"class.roots": self.class_metric.roots, "class.logdet": self.class_metric.log_determinants}
            if self.class_metric.directions is not None:
                arrays["class.directions"] = self.class_metric.directions
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> ScoringModel:
        """Read a model from a message; shapes, finiteness and size are checked."""
        if sum(array.nbytes for array in arrays.values()) > MAX_BYTES:
            raise ProtocolError("valuation.scoring-model-too-large", most=MAX_BYTES)
        if not all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f"):
            raise ProtocolError("valuation.scoring-model-not-finite")
        try:
            if not all(array.dtype.kind in "fiu" for array in arrays.values()):
                raise ValueError("not all arrays hold numbers")
            numbers = [float(v) for v in arrays["numbers"]]
            if arrays["classes"].dtype != np.uint8:
                raise ValueError("the classes are not a text")
            names = read_json(arrays["classes"].tobytes().decode("utf-8"), longest=MAX_BYTES)
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("the classes are not a list of names")
            class_metric = None
            if "class.roots" in arrays:
                class_metric = ClassMetric(
                    arrays.get("class.directions"),
                    Centroids.from_arrays("class", arrays),
                    arrays["class.roots"],
                    arrays["class.logdet"],
                )
            model = cls(
                classes=tuple(names),
                log_prior=arrays["log_prior"],
                metric=SharedMetric(arrays["mean"], arrays["directions"], arrays["variances"], numbers[2]),
                shrinkage=numbers[0],
                epsilon=numbers[1],
                centroids=Centroids.from_arrays("shared", arrays),
                class_metric=class_metric,
                coefficients=arrays["coefficients"],
                offsets=arrays["offsets"],
                scales=arrays["scales"],
                biases=arrays["biases"],
                blend=arrays["blend"],
            )
            if model.scores(model.metric.mean[None]).shape != (1, len(names)):
                raise ValueError("a row does not get one number for each class")
        except (KeyError, ValueError, IndexError, TypeError, RecursionError) as error:
            raise ProtocolError("valuation.scoring-model-incoherent", why=str(error)) from error
        return model


class Scorer:
    """A scoring model at work on the parts of a table, here or on a GPU, in the model's own precision.

    ``rows`` is how many there will be, all parts together: a GPU is worth its start only where they are many.
    """

    def __init__(self, model: ScoringModel, rows: int) -> None:
        self.model = model
        metric, matrices = model.class_metric, [model.metric.directions, model.centroids.points, model.coefficients]
        matrices += [] if metric is None else [metric.roots, metric.centroids.points]
        self._xp = arrays_for(float(rows) * sum(matrix.size for matrix in matrices))  # multiplications, about
        self._moved = moved(model, self._xp)

    def __call__(self, values: Floats) -> Floats:
        """Log p(c|x) of the rows of a part."""
        if self._xp is NUMPY:
            return self.model.scores(values)
        rows = self._xp.asarray(values, self.model.metric.mean.dtype.type)
        return self._xp.numpy(self._moved.scores_on(rows, self._xp))
