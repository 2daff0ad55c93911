"""`Finding`: what one attack measured, with its interval, beside what was promised."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedbary.auditing.intervals import Rate
from fedbary.notes import Note

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

    @property
    def exposing(self) -> bool:
        """Whether the value says how much of a row the server gets."""
        return self.kind in (RECONSTRUCTION, MEMBERSHIP)


def measured(
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
