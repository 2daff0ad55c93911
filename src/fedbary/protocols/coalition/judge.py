"""The rows on which a coalition's classifier is tested: the reference, or rows drawn around the consensus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows drawn around each point of the consensus.
_DRAWS = 20


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows in the coordinates of the game, their class codes, and weights that sum to one."""

    points: Floats
    codes: Integers
    weights: Floats


def consensus_judge(support: Floats, codes: Integers, variances: Floats, *, seed: int) -> Judge:
    """Rows drawn around the support, as wide as the classes are: the support itself would be too easy.

    ``variances`` are those inside each class (class, coordinate), of which the support's own are a part. All classes
    count the same: nobody knows how frequent they are, and by the clients' counts those that most clients have would
    decide.
    """
    left = variances.copy()
    for code in np.unique(codes):
        left[code] -= support[codes == code].var(axis=0)
    width = np.sqrt(np.maximum(left, 0.0))[codes]
    noise = np.random.default_rng(seed).standard_normal((_DRAWS, *support.shape))
    rows = (support + width * noise).reshape(-1, support.shape[1])
    weights = 1.0 / np.bincount(codes)[codes] / len(np.unique(codes))
    return Judge(rows, np.tile(codes, _DRAWS), np.tile(weights, _DRAWS) / _DRAWS)
