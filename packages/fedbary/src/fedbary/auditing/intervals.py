"""What a number of trials proves: exact binomial intervals, and the smallest ε that two rates allow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Intervals that are shown, and what it takes to call a promise broken: an audit asks a dozen times.
CONFIDENCE, PROOF = 0.95, 0.999
# The false-positive rate at which membership is judged: an attack that is often wrong accuses nobody.
FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class Rate:
    """A number from trials: its 95 % interval, and the lower end at 99.9 %, which is proved beyond reasonable doubt.

    ``false_positives`` is the upper end at 99.9 % of the rate at which the same attack is wrong, where it has one.
    """

    value: float
    low: float
    high: float
    proved: float
    false_positives: float = 0.0

    @classmethod
    def of(cls, successes: int, trials: int, false_positives: int = 0) -> Rate:
        """A share of trials."""
        proved = clopper_pearson(successes, trials, PROOF)[0]
        wrong = clopper_pearson(false_positives, trials, PROOF)[1]
        return cls(successes / trials, *clopper_pearson(successes, trials), proved, wrong)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a rate (Clopper & Pearson 1934)."""
    from scipy.stats import beta

    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1.0 - tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def least_epsilon(true_positives: int, false_positives: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The ε that must be exceeded by a mechanism under which a test has these counts in ``trials`` each.

    ε-differential privacy says p ≤ e^ε·q and 1 − q ≤ e^ε·(1 − p) for the rates p of true and q of false positives; each
    is replaced by the end of its interval that is kinder to the mechanism.
    """
    low = clopper_pearson(true_positives, trials, confidence)[0]
    ceiling = clopper_pearson(false_positives, trials, confidence)[1]
    ratios = ((low, ceiling), (1.0 - ceiling, 1.0 - low))
    return max([0.0, *(math.log(above / below) for above, below in ratios if above > 0.0 and below > 0.0)])


def likely_epsilon(true_positives: int, false_positives: int, trials: int) -> float:
    """The ε that the rates themselves suggest, half a count added to each so that it stays finite.

    Examples
    --------
    >>> round(likely_epsilon(100, 0, 100), 2), likely_epsilon(50, 50, 100)
    (5.3, 0.0)
    """
    hit, false = (true_positives + 0.5) / (trials + 1.0), (false_positives + 0.5) / (trials + 1.0)
    return max(0.0, math.log(hit / false), math.log((1.0 - false) / (1.0 - hit)))


def threshold_at(scores: Floats, rate: float = FALSE_POSITIVES) -> float:
    """A threshold that at most this share of further scores should exceed, by exchangeability with these.

    (With fewer than 99 scores not even the largest is enough for 1 %.)
    """
    ordered = np.sort(scores)[::-1]
    return float(ordered[max(0, int(rate * (len(ordered) + 1)) - 1)])
