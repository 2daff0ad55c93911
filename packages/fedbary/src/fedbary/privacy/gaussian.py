"""Discrete Gaussian noise on integers, exact and from the operating system's entropy.

P(k) ∝ exp(−k²/(2·variance)) on the integers, sampled with integer arithmetic only (Canonne, Kamath & Steinke 2020,
Algorithm 3). Independent noise on integers of which a row moves the j-th by Δ_j is ½·Σ Δ_j²/variance_j-zCDP, whatever
the variances are (their Theorem 14): the bound of Gaussian noise on real numbers, without its floating-point leaks.
"""

from __future__ import annotations

import secrets
from fractions import Fraction
from math import isqrt

from fedbary.errors import PrivacyError
from fedbary.privacy.laplace import Below, bernoulli_exp, discrete_laplace


def discrete_gaussian(variance: Fraction, *, below: Below = secrets.randbelow) -> int:
    """An integer k with P(k) ∝ exp(−k²/(2·variance)), exactly."""
    if variance <= 0:
        raise PrivacyError("protocols.no-sensitivity")
    top, bottom = variance.numerator, variance.denominator
    scale = isqrt(top // bottom) + 1
    while True:
        drawn = discrete_laplace(scale, below=below)
        # (|k| − variance/scale)²/(2·variance), in whole numbers
        excess, unit = (abs(drawn) * scale * bottom - top) ** 2, 2 * top * bottom * scale**2
        whole, rest = divmod(excess, unit)
        if all(bernoulli_exp(1, 1, below=below) for _ in range(whole)) and bernoulli_exp(rest, unit, below=below):
            return drawn
