"""Potentials that row values are made of: exact ones, or the published entropic ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.transport import solve
from fedbary_lab.paper import PaperInterpolation
from fedbary_lab.transport.debiased import debiased_potential

Floats = NDArray[np.float64]

# The published runs, and what they halve: geomloss' p = 2 costs ‖x − y‖²/2, with blur² = 0.1.
_PUBLISHED_EPSILON = 2.0 * 0.1


def source_potential(
    settings: PaperInterpolation, points: Floats, weights: Floats, target: Floats, mass: Floats
) -> Floats:
    """How the distance from points to a target changes if one of the points had more mass."""
    if settings.potentials == "sinkhorn":
        return debiased_potential(points, target, weights, mass, epsilon=_PUBLISHED_EPSILON)
    return solve(points, target, weights, mass, p=settings.p).source_potential
