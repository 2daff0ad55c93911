"""Potentials that row values are made of: exact ones, or the published entropic ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.interpolation import PUBLISHED_EPSILON, Interpolation
from fedbary.transport import solve
from fedbary.transport.debiased import debiased_potential

Floats = NDArray[np.float64]


def source_potential(settings: Interpolation, points: Floats, weights: Floats, target: Floats, mass: Floats) -> Floats:
    """How the distance from points to a target changes if one of the points had more mass."""
    if settings.potentials == "sinkhorn":
        return debiased_potential(points, target, weights, mass, epsilon=PUBLISHED_EPSILON)
    return solve(points, target, weights, mass, p=settings.p).source_potential
