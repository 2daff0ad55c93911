"""Discrete Laplace noise on a grid, exact and from the operating system's entropy.

Floating-point Laplace noise leaks through the gaps between doubles. Here the value is rounded to a multiple of a
grid g, and an integer multiple of g is added whose distribution is exactly P(k) ∝ exp(−|k|·s/t), sampled with integer
arithmetic only (Canonne, Kamath & Steinke 2020, Algorithm 2). Rounding adds at most g to the sensitivity.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction

from fedbary.errors import PrivacyError, wrong_parameter

_GRID = 1024
# Below, the noise drowns any answer; a protocol that splits a budget may go under its own least epsilon.
_LEAST_EPSILON = 1e-5


@dataclass(frozen=True)
class Release:
    """A number made private: what leaves, and the scale of the noise in it."""

    value: float
    scale: float


def release(value: float, *, sensitivity: float, epsilon: float) -> Release:
    """Add discrete Laplace noise for ``epsilon``-differential privacy.

    ``sensitivity`` is the most that replacing one row can move the value. The grid is a 1024th of it. ``epsilon`` is
    taken as the exact fraction that its float stands for, so the noise is never smaller than promised.

    Examples
    --------
    >>> from fedbary.privacy.laplace import release
    >>> abs(release(10.0, sensitivity=1e-6, epsilon=1.0).value - 10.0) < 1e-3
    True
    """
    if not _LEAST_EPSILON <= epsilon < math.inf:
        raise wrong_parameter("epsilon", "release", f"finite and at least {_LEAST_EPSILON:g}", epsilon)
    if not 0.0 < sensitivity < math.inf:
        raise PrivacyError("protocols.no-sensitivity")
    grid = sensitivity / _GRID
    rounded = round(value / grid)
    scale = grid_scale(epsilon)
    return Release((rounded + discrete_laplace(scale)) * grid, float(scale) * grid)


def grid_scale(epsilon: float) -> Fraction:
    """Scale of the noise in units of the grid: sensitivity 1024, and one more for the rounding."""
    return Fraction(_GRID + 1) / Fraction(epsilon)


def discrete_laplace(scale: Fraction) -> int:
    """An integer k with P(k) ∝ exp(−|k|/scale), exactly."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = secrets.randbelow(t)
        if not _bernoulli_exp(Fraction(u, t)):
            continue
        v = 0
        while _bernoulli_exp(Fraction(1)):
            v += 1
        magnitude = (u + t * v) // s
        negative = secrets.randbelow(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def _bernoulli_exp(rate: Fraction) -> bool:
    """True with probability exp(−rate), for 0 ≤ rate ≤ 1, exactly."""
    k = 1
    while secrets.randbelow(rate.denominator * k) < rate.numerator:
        k += 1
    return k % 2 == 1
