"""Between two measures: barycentric projection and points on the Wasserstein geodesic."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import wrong_parameter
from fedbary.transport.result import Transport

Floats = NDArray[np.float64]
Interpolation = Literal["barycentric", "exact"]


def barycentric_projection(transport: Transport, Y: Floats) -> Floats:
    """Where each source point goes on average: Σ_j π_ij·y_j / a_i."""
    from scipy.sparse import csr_array

    weights = transport.source_weights
    source, target, mass = transport.source, transport.target, transport.mass
    if (np.diff(source) < 0).any():
        order = np.argsort(source, kind="stable")
        source, target, mass = source[order], target[order], mass[order]
    ends = np.searchsorted(source, np.arange(len(weights) + 1))
    sums = np.asarray(csr_array((mass, target, ends), shape=(len(weights), len(Y))) @ Y)
    carrying = weights > 0
    sums[carrying] /= weights[carrying, None]
    return sums


def interpolate(
    transport: Transport, X: Floats, Y: Floats, t: float, *, mode: Interpolation = "barycentric"
) -> tuple[Floats, Floats]:
    """Points and weights of the measure a fraction ``t`` of the way from X to Y.

    ``exact`` is the push-forward of the plan under (1 − t)·x + t·y: a true geodesic, one point per non-zero
    entry of the plan. ``barycentric`` (eq. 6 of the paper) moves each source point towards its barycentric
    projection, so that the support keeps its size; the two agree where the plan is a matching.
    """
    if not 0.0 <= t <= 1.0:
        raise wrong_parameter("t", "interpolate", "in [0, 1]", t)
    if mode == "barycentric":
        return (1.0 - t) * X + t * barycentric_projection(transport, Y), transport.source_weights
    points = (1.0 - t) * X[transport.source] + t * Y[transport.target]
    return points, transport.mass / transport.mass.sum()
