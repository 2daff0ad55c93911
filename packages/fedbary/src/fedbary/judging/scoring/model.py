"""`ScoringModel`: what the server fits on its own rows so that a client can score its rows at home."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY
from fedbary.compute.device import map_by_all_cores
from fedbary.errors import ProtocolError
from fedbary.judging.scoring.components import CLASS_SHRINKAGE, ClassMetric, SharedMetric
from fedbary.judging.scoring.mixture import Centroids, soft_minimum
from fedbary.strict_json import read_json
from fedbary.transport.solve import cost_matrix

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

        def scored(start: int) -> Floats:
            rows = values[start : start + _BLOCK]
            return self._scores(rows, self.metric.rotate(rows))

        found = map_by_all_cores(scored, range(0, max(len(values), 1), _BLOCK))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def in_single(self) -> ScoringModel:
        """The same model in single precision: in half the time it gives scores that are off by some 1e-5."""
        arrays = self.to_arrays()
        return ScoringModel.from_arrays(
            {
                name: array.astype(np.float32) if array.dtype.kind == "f" and name != "numbers" else array
                for name, array in arrays.items()
            }
        )

    def _scores(self, values: Floats, rotated: Floats) -> Floats:
        parts = [
            NUMPY.log_softmax(-scale * potential + prior + bias)
            for (potential, prior), scale, bias in zip(
                self._potentials(values, rotated), self.scales, self.biases, strict=True
            )
        ]
        blended = np.sum([a * part for a, part in zip(self.blend, parts, strict=True)], axis=0)
        return np.asarray(NUMPY.log_softmax(blended))

    @property
    def products(self) -> int:
        """Multiplications that a row takes, about."""
        own = 0 if self.class_metric is None else self.class_metric.roots.size + self.class_metric.centroids.points.size
        return int(self.metric.directions.size + self.centroids.points.size + own + self.coefficients.size)

    def require_affordable(self, rows: int) -> None:
        """Refuse a model that is too large for so many rows: for the memory, or for the time and the disk."""
        widest = self._widest
        if min(rows, _PART) * widest > _MOST_IN_MEMORY or rows * widest > _MOST_NUMBERS:
            raise ProtocolError("valuation.scoring-model-too-large-for-rows", rows=rows)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The model as named arrays, for a message."""
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
            **_centroid_arrays("shared", self.centroids),
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
                metric=SharedMetric(arrays["mean"], arrays["directions"], arrays["variances"], numbers[2]),
                shrinkage=numbers[0],
                epsilon=numbers[1],
                centroids=_centroids("shared", arrays),
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

    @property
    def _widest(self) -> int:
        """Most numbers that a row becomes on the way to its scores."""
        centroids = [self.centroids] if self.class_metric is None else [self.centroids, self.class_metric.centroids]
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


def _centroid_arrays(name: str, centroids: Centroids) -> dict[str, np.ndarray]:
    return {
        f"{name}.points": centroids.points,
        f"{name}.classes": centroids.classes,
        f"{name}.weights": centroids.weights,
    }


def _centroids(name: str, arrays: Mapping[str, np.ndarray]) -> Centroids:
    return Centroids(arrays[f"{name}.points"], arrays[f"{name}.classes"].astype(np.int64), arrays[f"{name}.weights"])
