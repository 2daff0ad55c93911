"""`Finding`: what one attack measured, with its interval, beside what was promised; and what trials prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.owner import Defence
from fedbary.notes import Note
from fedbary.protocols.halves import Exact

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


# Attacks whose value is how much of a row the server gets, from 0 to 1: what an audit is judged by.
RECONSTRUCTION, MEMBERSHIP = "reconstruction", "membership"
INFERENCE, SIDE_CHANNEL, EPSILON = "inference", "side channel", "epsilon"


@dataclass(frozen=True)
class Finding:
    """One attack's result.

    Parameters
    ----------
    attack : str
        Its name.
    kind : str
        What it is after: ``reconstruction``, ``membership``, ``inference``, ``side channel`` or ``epsilon``.
    what : Note
        What the value measures, and from how many trials.
    value, low, high : float
        What was measured, and its 95 % interval.
    limit : float, optional
        The most that was promised; None where nothing is claimed.
    proved : float
        The lower end at 99.9 %, which has to exceed the limit to break the promise.
    slack : float
        By how much more, where the attack's own rate of false alarms is known from trials only.
    """

    attack: str
    kind: str
    what: Note
    value: float
    low: float
    high: float
    limit: float | None
    proved: float
    slack: float = 0.0

    @property
    def holds(self) -> bool | None:
        """Whether the promise stands: the trials do not refute it. None where nothing is claimed."""
        if self.limit is None:
            return None
        return self.proved <= self.limit + self.slack + 1e-12

    def facts(self) -> dict[str, Any]:
        """What a table or a JSON text says of it."""
        shown = ("attack", "kind", "what", "value", "low", "high", "limit", "holds")
        return {name: getattr(self, name) for name in shown}


def finding_of(
    attack: str, kind: str, what: Note, rate: Rate, limit: float | None = None, *, slack: float = 0.0
) -> Finding:
    """The finding that a rate is."""
    return Finding(attack, kind, what, rate.value, rate.low, rate.high, limit, rate.proved, slack)


def largest_guess(epsilon: float) -> float:
    """The best rate at which anybody guesses which of two neighbouring tables answered: e^ε/(1 + e^ε).

    Examples
    --------
    >>> round(largest_guess(1.0), 3)
    0.731
    """
    return 1.0 / (1.0 + math.exp(-epsilon))


@dataclass(frozen=True)
class Promises:
    """Limits by attack; None where nothing is claimed.

    With ε everything that leaves is covered by it. Without, ``coarsen`` promises that repeated questions are refused,
    ``guarded`` that no odd row is read off a card, and the protocols that send averages that each is one of
    ``min_group`` rows; none of them hides who takes part. A server that is trusted may learn anything.
    """

    membership: float | None = None
    guess: float | None = None
    pairs: float | None = None
    epsilon: float | None = None
    refusal: float | None = None
    questions: float | None = None
    averages: float | None = None

    @classmethod
    def of(cls, defence: Defence) -> Promises:
        """What these settings promise."""
        epsilon, once = defence.epsilon, defence.one_question
        if epsilon is not None:
            return cls(
                membership=min(1.0, FALSE_POSITIVES * math.exp(epsilon)),
                guess=largest_guess(epsilon),
                pairs=largest_guess(epsilon if once else 2.0 * epsilon),
                epsilon=epsilon,
                refusal=0.0,
                questions=0.0,
                averages=0.0,
            )
        shows = isinstance(defence.settings.trust, Exact)
        guarded = defence.policy is not None and once
        return cls(
            pairs=0.5 if guarded and not shows else None,
            questions=0.0 if guarded and not shows else None,
            averages=0.0 if not shows else None,
        )
