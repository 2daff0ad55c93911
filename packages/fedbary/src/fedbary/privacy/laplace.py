"""Discrete Laplace noise on integers, exact and from the operating system's entropy.

Floating-point Laplace noise leaks through the gaps between doubles. Here an integer is released, and the integer that
is added to it has exactly the distribution P(k) ∝ exp(−|k|/scale), sampled with integer arithmetic only (Canonne,
Kamath & Steinke 2020, Algorithm 2).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fedbary.errors import PrivacyError, wrong_parameter

# A uniform whole number below another one: the operating system's, but for tests of the sampler itself.
Below = Callable[[int], int]

# Below, the noise drowns any answer; a protocol that splits a budget may go under its own least epsilon.
_LEAST_EPSILON = 1e-6


@dataclass(frozen=True)
class Release:
    """An integer made private: what leaves, and the scale of the noise in it."""

    value: int
    scale: int


def release(value: int, *, sensitivity: int, epsilon: float) -> Release:
    """Add discrete Laplace noise for ``epsilon``-differential privacy.

    ``sensitivity`` is the most that replacing one row can move the value. ``epsilon`` is taken as the exact fraction
    that its float stands for and the scale is rounded up, so the noise is never smaller than promised.
    """
    if not _LEAST_EPSILON <= epsilon < math.inf:
        raise wrong_parameter("epsilon", "release", f"finite and at least {_LEAST_EPSILON:g}", epsilon)
    if sensitivity < 1:
        raise PrivacyError("protocols.no-sensitivity")
    scale = math.ceil(sensitivity / Fraction(epsilon))
    # Looked up here, so that a test can put noise of its own in its place.
    return Release(value + discrete_laplace(scale, below=secrets.randbelow), scale)


def discrete_laplace(scale: int, *, below: Below = secrets.randbelow) -> int:
    """An integer k with P(k) ∝ exp(−|k|/scale), exactly."""
    while True:
        rest = below(scale)
        if not bernoulli_exp(rest, scale, below=below):
            continue
        whole = 0
        while bernoulli_exp(1, 1, below=below):
            whole += 1
        magnitude = rest + scale * whole
        negative = below(2) == 1
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def bernoulli_exp(numerator: int, denominator: int, *, below: Below = secrets.randbelow) -> bool:
    """True with probability exp(−numerator/denominator), for a fraction in [0, 1], exactly."""
    k = 1
    while below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
