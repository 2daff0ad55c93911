"""Clients of made-up points in the plane: three Gaussians, as in the first experiment of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.options import Space

Floats = NDArray[np.float64]

CLIENTS = 3
# Points are compared as they are, and labels, which no Gaussian has, not at all.
PLANE = Space(task="regression", scaling="none", projection="none", labels="numeric", label_weight=0.0)
_COVARIANCE = np.array([[1.0, 0.5], [0.5, 1.0]])
_REACH, _LEAST_APART = 5.0, 2.0


def gaussians(rows: int, *, seed: int, same_covariance: bool = True) -> list[Floats]:
    """So many points of each of three Gaussians whose means lie in a square of side 10, at least 2 from each other."""
    rng = np.random.default_rng([seed, 0])
    means = rng.uniform(-_REACH, _REACH, (CLIENTS, 2))
    while min(float(np.linalg.norm(a - b)) for a, b in combinations(means, 2)) < _LEAST_APART:
        means = rng.uniform(-_REACH, _REACH, (CLIENTS, 2))
    return [
        rng.multivariate_normal(mean, _COVARIANCE if same_covariance else _any_covariance(rng), rows) for mean in means
    ]


def tables_of(points: Sequence[Floats]) -> dict[str, Table]:
    """Each client's points as a table; every label is the same."""
    return {f"client_{place + 1}": Table.from_arrays(own, np.zeros(len(own))) for place, own in enumerate(points)}


def _any_covariance(rng: np.random.Generator) -> Floats:
    """Axes from 0.3 to 2 long, in any direction."""
    angle, axes = rng.uniform(0.0, np.pi), rng.uniform(0.3, 2.0, 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray((turn * axes**2) @ turn.T)
