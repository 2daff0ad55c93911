"""What private answers cost, by an established accountant: several together, and Gaussian noise for an ε and a δ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf

from fedbary.checks import number
from fedbary.errors import SettingsError, wrong_parameter

# Rényi orders from 1.03 to a million.
_ORDERS = [1.0 + 2.0 ** (step / 8) for step in range(-40, 161)]
# What the accountant's own arithmetic may be off by, and more.
_PRECISION, _LEAST_RHO = 1e-9, 1e-18


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
        total = inf
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
