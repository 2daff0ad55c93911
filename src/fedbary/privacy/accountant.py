"""What several private answers cost together, by an established accountant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fedbary.checks import number
from fedbary.errors import SettingsError, wrong_parameter


def composed(epsilons: Iterable[float], delta: float) -> float:
    """The ε of all answers together, where a failure of probability ``delta`` is allowed.

    Their plain sum holds without any δ, and is what a ledger counts. With many small answers the accountant of
    Google's dp-accounting (extra ``privacy``) finds less. It is told nothing of the noise but that each answer is
    ε-differentially private, so that its bound holds whatever the noise is.

    Examples
    --------
    >>> from fedbary.privacy.accountant import composed
    >>> round(composed([0.1] * 50, delta=1e-6), 1)  # doctest: +SKIP
    3.2
    """
    number(delta, "delta", "composed")
    if delta >= 1.0:
        raise wrong_parameter("delta", "composed", "below 1", delta)
    try:
        from dp_accounting.pld.common import DifferentialPrivacyParameters
        from dp_accounting.pld.privacy_loss_distribution import from_privacy_parameters, identity
    except ImportError as error:
        raise SettingsError("settings.no-accountant") from error
    counts = Counter(float(epsilon) for epsilon in epsilons if epsilon > 0)
    total = sum(epsilon * times for epsilon, times in counts.items())
    losses = identity()
    for epsilon, times in counts.items():
        losses = losses.compose(from_privacy_parameters(DifferentialPrivacyParameters(epsilon)).self_compose(times))
    return min(float(losses.get_epsilon_for_delta(delta)), total)
