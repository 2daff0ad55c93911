"""Costs between points: ‖x − y‖² or ‖x − y‖."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cost_matrix(X: Floats, Y: Floats, p: int) -> Floats:
    """All pairwise costs ‖x_i − y_j‖^p by one matrix product; X and Y are centred first for precision."""
    centre = Y.mean(axis=0)
    X, Y = X - centre, Y - centre
    squared = X @ Y.T
    squared *= -2.0
    squared += np.einsum("ij,ij->i", X, X)[:, None]
    squared += np.einsum("ij,ij->i", Y, Y)
    np.maximum(squared, 0.0, out=squared)
    return squared if p == 2 else np.sqrt(squared, out=squared)
