"""`ScoringModel`: what the server fits on its own rows so that a client can score its rows at home."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY
from fedbary.compute.cores import found_by_all_cores
from fedbary.errors import ProtocolError
from fedbary.judging.scoring.components import CLASS_SHRINKAGE, ClassMetric, SharedMetric
from fedbary.judging.scoring.mixture import Centroids, soft_minimum, soft_minimum_of_one
from fedbary.strict_json import read_json
from fedbary.transport.cost import cost_matrix

Floats = NDArray[np.float64]

# A model is a few matrices; a larger one is not what a server of this protocol sends.
MAX_BYTES = 256 * 2**20
# Rows that are scored at once: what they become on the way stays in the processor's cache.
_BLOCK = 8192
# Of each row at each centroid, class or direction: four gigabytes of the rows that are in memory together, and of all
# rows what takes some minutes.
_PART, _MOST_IN_MEMORY, _MOST_NUMBERS = 65_536, 2**29, 2**33


@dataclass(frozen=True, eq=False)
class ScoringModel:
    """Class probabilities p(c|x) and a feature score from centroids, covariances and a linear model.

    log p(c|x) is the normalised sum Σ_r α_r·log p_r over up to three parts (DESIGN 2.6): *shared* (soft minimum
    of the distance to centroids in one metric), *class* (a metric per class) and *linear*; each is calibrated as
    −scale_c·potential_c + log π_c + offset_c. The feature score is the soft minimum over all centroids, centred and
    scaled by clean rows that look like the same class: classes differ in spread, and a client's class mix must not
    decide which of its rows stand out.

    Everything is arrays: no code and no pickle travels.
    """

    classes: tuple[str, ...]
    log_prior: Floats
    metric: SharedMetric
    shrinkage: float
    epsilon: float
    centroids: Centroids
    feature_shrinkage: float
    feature_centroids: Centroids
    feature_centre: Floats
    feature_scale: Floats
    class_metric: ClassMetric | None
    coefficients: Floats
    offsets: Floats
    scales: Floats
    biases: Floats
    blend: Floats

    def scores(self, values: Floats, rotated: Floats | None = None) -> tuple[Floats, Floats]:
        """Log-probabilities log p(c|x), one column per class, and feature scores, for rows of scaled features.

        A feature score says how far a row is from all centroids, relative to clean rows of the class that it looks
        like most. ``rotated`` are the rows along the metric's directions, where they are at hand.
        """
        self.require_affordable(len(values))
        along = self.metric.rotate(values) if rotated is None else rotated

        def scored(start: int) -> tuple[Floats, Floats]:
            return self._scores(values[start : start + _BLOCK], along[start : start + _BLOCK])

        found = found_by_all_cores(scored, range(0, max(len(values), 1), _BLOCK))
        if len(found) == 1:
            return found[0]
        return np.concatenate([logs for logs, _ in found]), np.concatenate([feature for _, feature in found])

    def in_single(self) -> ScoringModel:
        """The same model in single precision: in half the time it gives scores that are off by some 1e-5."""
        arrays = self.to_arrays()
        return ScoringModel.from_arrays(
            {
                name: array.astype(np.float32) if array.dtype.kind == "f" and name != "numbers" else array
                for name, array in arrays.items()
            }
        )

    def _scores(self, values: Floats, rotated: Floats) -> tuple[Floats, Floats]:
        parts = [
            NUMPY.log_softmax(-scale * potential + prior + bias)
            for (potential, prior), scale, bias in zip(
                self._potentials(values, rotated), self.scales, self.biases, strict=True
            )
        ]
        logs = NUMPY.log_softmax(np.sum([a * part for a, part in zip(self.blend, parts, strict=True)], axis=0))
        potentials = feature_potential(self.metric.rescale(rotated, self.feature_shrinkage), self.feature_centroids)
        looks = logs.argmax(axis=1)
        return logs, np.asarray((potentials - self.feature_centre[looks]) / self.feature_scale[looks])

    @property
    def products(self) -> int:
        """Multiplications that a row takes, about."""
        own = 0 if self.class_metric is None else self.class_metric.roots.size + self.class_metric.centroids.points.size
        shared = self.centroids.points.size + self.feature_centroids.points.size
        return int(self.metric.directions.size + shared + own + self.coefficients.size)

    def require_affordable(self, rows: int) -> None:
        """Refuse a model that is too large for so many rows: for the memory, or for the time and the disk."""
        widest = self._widest
        if min(rows, _PART) * widest > _MOST_IN_MEMORY or rows * widest > _MOST_NUMBERS:
            raise ProtocolError("valuation.scoring-model-too-large-for-rows", rows=rows)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as named arrays, for a message."""
        arrays = {
            "classes": np.frombuffer(json.dumps(self.classes).encode("utf-8"), dtype=np.uint8).copy(),
            "numbers": np.array([self.shrinkage, self.epsilon, self.feature_shrinkage, self.metric.level]),
            "log_prior": self.log_prior,
            "mean": self.metric.mean,
            "directions": self.metric.directions,
            "variances": self.metric.variances,
            "coefficients": self.coefficients,
            "offsets": self.offsets,
            "scales": self.scales,
            "biases": self.biases,
            "blend": self.blend,
            "feature.centre": self.feature_centre,
            "feature.scale": self.feature_scale,
            **_centroid_arrays("shared", self.centroids),
            **_centroid_arrays("feature", self.feature_centroids),
        }
        if self.class_metric is not None:
            arrays |= _centroid_arrays("class", self.class_metric.centroids)
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
                    _centroids("class", arrays),
                    arrays["class.roots"],
                    arrays["class.logdet"],
                )
            model = cls(
                classes=tuple(names),
                log_prior=arrays["log_prior"],
                metric=SharedMetric(arrays["mean"], arrays["directions"], arrays["variances"], numbers[3]),
                shrinkage=numbers[0],
                epsilon=numbers[1],
                centroids=_centroids("shared", arrays),
                feature_shrinkage=numbers[2],
                feature_centroids=_centroids("feature", arrays),
                feature_centre=arrays["feature.centre"],
                feature_scale=arrays["feature.scale"],
                class_metric=class_metric,
                coefficients=arrays["coefficients"],
                offsets=arrays["offsets"],
                scales=arrays["scales"],
                biases=arrays["biases"],
                blend=arrays["blend"],
            )
            logs, feature = model.scores(model.metric.mean[None])
            if logs.shape != (1, len(names)) or feature.shape != (1,):
                raise ValueError("a row does not get one number for each class")
        except (KeyError, ValueError, IndexError, TypeError, RecursionError) as error:
            raise ProtocolError("valuation.scoring-model-incoherent", why=str(error)) from error
        return model

    @property
    def _widest(self) -> int:
        """Most numbers that a row becomes on the way to its scores."""
        centroids = [self.centroids, self.feature_centroids]
        centroids += [] if self.class_metric is None else [self.class_metric.centroids]
        return max(len(self.classes), int(self.metric.directions.shape[-1]), *(len(one.points) for one in centroids))

    def _potentials(self, values: Floats, rotated: Floats) -> list[tuple[Floats, Floats]]:
        """Each part's potentials and prior: densities need the class prior, the linear part has learnt it."""
        costs = cost_matrix(self.metric.rescale(rotated, self.shrinkage), self.centroids.points, 2)
        found = [(soft_minimum(costs, self.centroids, self.epsilon, len(self.classes)), self.log_prior)]
        if self.class_metric is not None:
            whitened = self.metric.rescale(rotated, CLASS_SHRINKAGE)
            found.append((self.class_metric.potentials(whitened), self.log_prior))
        if len(self.coefficients):
            found.append((-(values @ self.coefficients.T + self.offsets), np.zeros_like(self.log_prior)))
        return found


def feature_potential(whitened: Floats, centroids: Centroids) -> Floats:
    """Soft minimum of the squared distance to all centroids, whatever their class."""
    return soft_minimum_of_one(cost_matrix(whitened, centroids.points, 2), centroids.weights, 2.0)


def _centroid_arrays(name: str, centroids: Centroids) -> dict[str, np.ndarray]:
    return {
        f"{name}.points": centroids.points,
        f"{name}.classes": centroids.classes,
        f"{name}.weights": centroids.weights,
    }


def _centroids(name: str, arrays: Mapping[str, np.ndarray]) -> Centroids:
    return Centroids(arrays[f"{name}.points"], arrays[f"{name}.classes"].astype(np.int64), arrays[f"{name}.weights"])
