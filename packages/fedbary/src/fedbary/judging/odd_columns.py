"""Which columns make a row's features odd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Columns are named until they make up half of what makes the row odd, at most so many.
_HALF, _MOST = 0.5, 3


def named(parts: Floats, names: list[str]) -> list[str | None]:
    """For each row the columns that make up most of its parts (n, columns), worst first; None where there is none."""
    worst = np.argsort(-parts, axis=1)[:, :_MOST]
    reached = np.cumsum(np.take_along_axis(parts, worst, axis=1), axis=1)
    total = parts.sum(axis=1)
    enough = np.concatenate([np.zeros((len(parts), 1), bool), reached[:, :-1] >= _HALF * total[:, None]], axis=1)
    # Few columns make most rows odd, so that each list of them is written once.
    lists, of_row = np.unique(np.where(enough, -1, worst), axis=0, return_inverse=True)
    texts = [", ".join(names[place] for place in chosen if place >= 0) for chosen in lists]
    return [texts[one] if some else None for one, some in zip(of_row.ravel(), total > 0.0, strict=True)]
