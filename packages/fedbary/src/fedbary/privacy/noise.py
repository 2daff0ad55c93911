"""Noise with a proof: exact integer noise, integer costs of rows to put it on, and what private answers cost together.

Floating-point noise leaks through the gaps between doubles. Here integers are released, and the integer that is added
has exactly its distribution, sampled with integer arithmetic only from the operating system's entropy (Canonne, Kamath
& Steinke 2020): discrete Laplace noise P(k) ∝ exp(−|k|/scale) by their Algorithm 2, discrete Gaussian noise
P(k) ∝ exp(−k²/(2·variance)) by their Algorithm 3. Independent Gaussian noise on integers of which a row moves the j-th
by Δ_j is ½·Σ Δ_j²/variance_j-zCDP, whatever the variances are (their Theorem 14): the bound of noise on real numbers.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import number
from fedbary.errors import PrivacyError, SettingsError, wrong_parameter
from fedbary.space.encode import chunks

Floats = NDArray[np.float64]

# A uniform whole number below another one: the operating system's, but for tests of the sampler itself.
Below = Callable[[int], int]

# Below, the noise drowns any answer; a protocol that splits a budget may go under its own least epsilon.
_LEAST_EPSILON = 1e-6
# Costs of rows are counted in parts of the cap.
GRID = 2**20
# Rényi orders from 1.03 to a million.
_ORDERS = [1.0 + 2.0 ** (step / 8) for step in range(-40, 161)]
# What the accountant's own arithmetic may be off by, and more.
_PRECISION, _LEAST_RHO = 1e-9, 1e-18


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


def discrete_gaussian(variance: Fraction, *, below: Below = secrets.randbelow) -> int:
    """An integer k with P(k) ∝ exp(−k²/(2·variance)), exactly."""
    if variance <= 0:
        raise PrivacyError("protocols.no-sensitivity")
    top, bottom = variance.numerator, variance.denominator
    scale = math.isqrt(top // bottom) + 1
    while True:
        drawn = discrete_laplace(scale, below=below)
        # (|k| − variance/scale)²/(2·variance), in whole numbers
        excess, unit = (abs(drawn) * scale * bottom - top) ** 2, 2 * top * bottom * scale**2
        whole, rest = divmod(excess, unit)
        if all(bernoulli_exp(1, 1, below=below) for _ in range(whole)) and bernoulli_exp(rest, unit, below=below):
            return drawn


def row_costs(coordinates: Floats, points: Floats, cap: float) -> Floats:
    """Whole numbers between 0 and ``GRID`` for every row and point: ⌊GRID·min(‖row − point‖²/cap, 1)⌋.

    A matrix product rounds a row differently depending on how many others stand beside it, and a dishonest server can
    make that visible. So here is no product of matrices and no sum along rows: coordinate by coordinate, elementwise
    additions, subtractions and multiplications, each correctly rounded (IEEE 754) and so the same wherever a row
    stands, and no other row can change it. ``coordinates`` has one line per coordinate (`encode.row_points`).
    What cannot be computed costs ``GRID``. The numbers are integers in doubles, as a network simplex wants them.
    """
    width, rows = coordinates.shape
    costs = np.empty((rows, len(points)))
    columns = np.ascontiguousarray(points.T)[:, :, None]
    with np.errstate(all="ignore"):
        for part in chunks(rows, len(points)):
            squares = np.zeros((len(points), part.stop - part.start))
            difference = np.empty_like(squares)
            for place in range(width):
                np.subtract(columns[place], coordinates[place, part], out=difference)
                np.multiply(difference, difference, out=difference)
                np.add(squares, difference, out=squares)
            np.divide(squares, cap, out=squares)
            np.multiply(squares, float(GRID), out=squares)
            np.floor(squares, out=squares)
            squares[~(squares < GRID)] = GRID  # NaN, too
            costs[part] = squares.T
    return costs


def composed(costs: Iterable[tuple[float, float]], delta: float) -> float:
    """The ε of all answers together, each with its own ε and δ, where a failure of probability ``delta`` is allowed.

    Their plain sums hold in any case, and are what a ledger counts. With many small answers the accountant of
    Google's dp-accounting (extra ``privacy``) finds less. It is told nothing of the noise but that each answer is
    (ε, δ)-differentially private, so that its bound holds whatever the noise is. Infinite where the answers' own δ
    are more than ``delta``.
    """
    _require_probability(delta, "composed")
    try:
        from dp_accounting.pld.common import DifferentialPrivacyParameters
        from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters, identity
    except ImportError as error:
        raise SettingsError("settings.no-accountant") from error
    counts = Counter((float(epsilon), float(own)) for epsilon, own in costs if epsilon > 0)
    total = sum(epsilon * times for (epsilon, _), times in counts.items())
    if sum(own * times for (_, own), times in counts.items()) > delta:
        total = math.inf
    losses = identity()
    for (epsilon, own), times in counts.items():
        one = from_privacy_parameters(DifferentialPrivacyParameters(epsilon, own))
        losses = losses.compose(one.self_compose(times))
    return min(float(losses.get_epsilon_for_delta(delta)), total)


def largest_rho(epsilon: float, delta: float) -> float:
    """The largest ρ for which whatever is ρ-zCDP is (ε, δ)-differentially private.

    By the Rényi accountant of Google's dp-accounting (extra ``privacy``), over orders that are fine enough to lose
    nothing that matters, and rounded down.
    """
    number(epsilon, "epsilon", "largest_rho")
    _require_probability(delta, "largest_rho")
    try:
        from dp_accounting import ZCDpEvent
        from dp_accounting.rdp import RdpAccountant
    except ImportError as error:
        raise SettingsError("settings.no-accountant") from error

    def costs(rho: float) -> float:
        return float(RdpAccountant(orders=_ORDERS).compose(ZCDpEvent(rho=rho)).get_epsilon(delta))

    enough, too_much = 0.0, epsilon  # more than ε would need a δ of no use
    while too_much > enough * (1.0 + _PRECISION):
        middle = (enough + too_much) / 2.0
        enough, too_much = (middle, too_much) if costs(middle) <= epsilon else (enough, middle)
        if too_much < _LEAST_RHO:
            raise wrong_parameter("epsilon", "largest_rho", f"larger for delta = {delta:g}", epsilon)
    return enough * (1.0 - _PRECISION)


def _require_probability(delta: float, owner: str) -> None:
    number(delta, "delta", owner)
    if delta >= 1.0:
        raise wrong_parameter("delta", owner, "below 1", delta)
