"""The target that the clients are compared with: the support with label coordinates, masses, and the cost cap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.consensus.model import class_shares
from fedbary.space.labels import label_coordinates
from fedbary.space.schema import LabelSpec
from fedbary.transport.cost import cost_matrix

Floats = NDArray[np.float64]

_CAP_QUANTILE = 0.99


@dataclass(frozen=True, eq=False)
class Target:
    """Points of the schema's space with their masses; ``cap`` is a cost that hardly any row reaches."""

    points: Floats
    weights: Floats
    cap: float

    @property
    def spread(self) -> float:
        """Root of the mean squared distance from the centre."""
        centre = self.weights @ self.points
        return float(np.sqrt(self.weights @ ((self.points - centre) ** 2).sum(axis=1)))


def make_target(support: Floats, sizes: NDArray[np.int64], counts: Floats, spec: LabelSpec, *, spread: float) -> Target:
    """Append the labels; a class has the mean of the clients' shares of it (``counts``: i, c), evenly on its points.

    The cap is what the target's widest pairs cost, and a row's own ``spread`` around its point.
    """
    points, weights = support, np.full(len(support), 1.0 / len(support))
    if spec.kind == "classes":
        class_of = np.repeat(np.arange(len(sizes)), sizes)
        known = counts * (sizes > 0)
        shares = class_shares(known if known.any() else (sizes > 0)[None].astype(float))
        weights = np.maximum(shares, 1e-12)[class_of] / sizes[class_of]
        weights /= weights.sum()
        points = np.hstack([support, label_coordinates(np.array(spec.classes)[class_of], support, weights, spec)])
    return Target(points, weights, float(np.quantile(cost_matrix(points, points, 2), _CAP_QUANTILE)) + spread**2)
