"""Shares: what part of the total each client contributes, from distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def shares(distances: Floats, *, spread: float = 0.0) -> Floats:
    """(1/d_i) / Σ_j (1/d_j), as in the paper; clients without a distance (NaN) get NaN.

    Distances are floored at 1e-9 of the target's ``spread``, so that a perfect copy of the target has a
    finite share.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation import shares
    >>> shares(np.array([1.0, 3.0]))
    array([0.75, 0.25])
    """
    inverse = _inverse(distances, spread)
    return inverse / np.nansum(inverse)


def share_bounds(low: Floats, high: Floats, *, spread: float = 0.0) -> tuple[Floats, Floats]:
    """Smallest and largest share that distances within ``[low, high]`` allow."""
    best, worst = _inverse(low, spread), _inverse(high, spread)
    others_best, others_worst = np.nansum(best) - best, np.nansum(worst) - worst
    return worst / (worst + others_best), best / (best + others_worst)


def _inverse(distances: Floats, spread: float) -> Floats:
    floor = max(1e-9 * spread, np.finfo(float).tiny ** 0.5)
    return 1.0 / np.maximum(distances, floor)
