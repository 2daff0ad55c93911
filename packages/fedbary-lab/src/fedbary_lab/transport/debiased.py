"""Debiased entropic potentials: those of two clouds, less those of the first with itself (Feydy et al. 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.solve import cost_matrix
from fedbary_lab.transport.sinkhorn import sinkhorn

Floats = NDArray[np.float64]


def debiased_potential(X: Floats, Y: Floats, a: Floats, b: Floats, *, epsilon: float) -> Floats:
    """f_ab − f_aa at the points of ``X``: how the Sinkhorn divergence changes if one of them had more mass.

    f_ab and f_aa are potentials of min_π Σ π_ij·‖x_i − y_j‖² + ε·KL(π | a ⊗ b), solved to convergence: as ε falls,
    f_aa tends to zero and f_ab to a potential of exact transport. geomloss halves costs: its ``SamplesLoss(p=2, blur)``
    is this problem for ε = 2·blur², with half the potentials. Where points lie so far apart that next to nothing is
    moved between some of them, the potentials of these are free against each other by about ε.

    Parameters
    ----------
    X, Y : arrays
        The points, whose squared Euclidean distances are the costs.
    a, b : arrays
        Their positive weights, each summing to one.
    epsilon : float
        ε, in the unit of the costs.

    Returns
    -------
    array
        One number for each point of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary_lab.transport.debiased import debiased_potential
    >>> X, half = np.array([[0.0], [1.0]]), np.full(2, 0.5)
    >>> bool(np.allclose(debiased_potential(X, X, half, half, epsilon=0.2), 0.0))
    True
    >>> debiased_potential(X, X + 3.0, half, half, epsilon=0.01).round(3)
    array([7.5, 1.5])
    """
    between = sinkhorn(cost_matrix(X, Y, 2), a, b, epsilon=epsilon).source_potential
    own = sinkhorn(cost_matrix(X, X, 2), a, a, epsilon=epsilon)
    # The two are the same; where points are far apart for this ε, rounding leaves one free against the other.
    itself = (own.source_potential + own.target_potential) / 2.0
    return between - itself
