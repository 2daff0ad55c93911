"""Calibrated gradients: how much a row pulls its data set towards or away from a target (eq. 10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.transport import solve

Floats = NDArray[np.float64]


def calibrated_gradient(potentials: Floats) -> Floats:
    """f_l minus the mean of the other rows' f: positive if more mass on row l increases the distance.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation import calibrated_gradient
    >>> calibrated_gradient(np.array([1.0, 2.0, 6.0]))
    array([-3. , -1.5,  4.5])
    """
    if len(potentials) < 2:
        return np.zeros(len(potentials))
    others = (potentials.sum() - potentials) / (len(potentials) - 1)
    return np.asarray(potentials - others)


def gradient_towards(
    points: Floats, weights: Floats, target: Floats, target_weights: Floats | None, *, p: int = 2
) -> Floats:
    """Dual potential of each point in the transport to ``target``, before calibration."""
    return solve(points, target, weights, target_weights, p=p).source_potential
