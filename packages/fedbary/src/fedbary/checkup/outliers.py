"""Numbers far from all others of their column, whatever the shape of its tail."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Numbers that lie to one side of the middle; with fewer, nothing can be said of a tail.
_LEAST_NUMBERS = 30
# More than this share of all numbers are no outliers, but a part of the column.
_MOST_SHARE = 0.05
# An outlier is so many times as far from the middle as any number that is none.
_GAP = 2.0
# How much farther out than the usual largest of so many numbers one must be: by chance it is once in e^7 columns.
_MARGIN = 7.0
# The shape of a tail is told by these of its quantiles, the last only where so many numbers lie in it; and so much,
# over the root of its numbers, is added for chance.
_PERCENTILES, _MANY_NUMBERS, _DOUBT = (0.8, 0.96, 0.992), 400, 2.0


def outliers(numbers: Floats) -> tuple[int, int]:
    """How many of the smallest and how many of the largest of ascending numbers are outliers."""
    middle = float(numbers[len(numbers) // 2]) if len(numbers) else 0.0
    return _far(middle - numbers[::-1], len(numbers)), _far(numbers - middle, len(numbers))


def _far(distances: Floats, total: int) -> int:
    """How many of the largest distances are too large; negative ones are on the other side."""
    tail = distances[np.searchsorted(distances, 0.0, side="right") :]
    most = min(int(_MOST_SHARE * total), len(tail) - _LEAST_NUMBERS)
    if most < 1:
        return 0
    outer = tail[-most - 1 :]
    widest = int(np.argmax(outer[1:] / outer[:-1]))
    if outer[widest + 1] < _GAP * outer[widest]:
        return 0
    count = most - widest
    rest = tail[: len(tail) - count]
    return count if outer[widest + 1] > _largest(rest) else 0


def _largest(tail: Floats) -> float:
    """Beyond the largest of so many numbers of a tail, by its generalised Pareto distribution.

    With shape ξ its quantile at 1 − p is proportional to p^−ξ − 1, so that ξ = log₅((q₉₆ − q₈₀) / q₈₀), and farther
    out ξ = log₅((q₉₉.₂ − q₉₆) / (q₉₆ − q₈₀)), as Pickands (1975) estimates it. The larger one counts, and none below
    that of an exponential tail, which is 0.
    """
    quantiles = np.quantile(tail, _PERCENTILES if len(tail) >= _MANY_NUMBERS else _PERCENTILES[:-1])
    steps = np.diff(quantiles, prepend=0.0)
    heavier = float((steps[1:] / np.maximum(steps[:-1], np.finfo(float).tiny)).max())
    shape = np.log(max(heavier, 1.0)) / np.log(5.0) + _DOUBT / np.sqrt(len(tail))
    beyond = np.expm1(shape * (np.log(len(tail)) + _MARGIN)) / np.expm1(shape * np.log(5.0))
    return float(quantiles[0] * beyond)
