"""How many labels are wrong: an estimate from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def noise_share(log_probabilities: Floats, codes: NDArray[np.int64], *, steps: int = 200) -> float:
    """Maximum-likelihood share ρ of labels that were replaced by another class at random.

    Each label is right with probability (1 − ρ)·p(y|x), or wrong with ρ·(1 − p(y|x))/(K − 1); EM climbs to the
    best ρ. It is an estimate, not a bound, and as good as the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation.noise import noise_share
    >>> sure = np.log(np.tile([0.998, 0.001, 0.001], (100, 1)))
    >>> round(noise_share(sure, np.repeat([0, 1], [80, 20])), 2)
    0.2
    """
    classes = log_probabilities.shape[1]
    if classes < 2 or not len(codes):
        return float("nan")
    right = np.exp(log_probabilities[np.arange(len(codes)), codes])
    wrong = (1.0 - right) / (classes - 1)
    share = 0.1
    for _ in range(steps):
        blamed = share * wrong
        updated = float((blamed / np.maximum(blamed + (1.0 - share) * right, 1e-300)).mean())
        if abs(updated - share) < 1e-7:
            break
        share = updated
    return share
