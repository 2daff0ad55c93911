"""Costs between points: ‖x − y‖² or ‖x − y‖."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.compute.kernels import squared_distances

Floats = NDArray[np.float64]


def cost_matrix(X: Floats, Y: Floats, p: int) -> Floats:
    """All pairwise costs ‖x_i − y_j‖^p."""
    return powered(squared_distances(X, Y), p)


def powered(squared: Floats, p: int) -> Floats:
    """‖x − y‖^p of ‖x − y‖², in its place."""
    return squared if p == 2 else np.sqrt(squared, out=squared)
