"""What an owner was promised, by the settings in force: the most that each attack may reach, or nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedbary.auditing.finding import largest_guess
from fedbary.auditing.intervals import FALSE_POSITIVES
from fedbary.auditing.owner import Defence


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
        shows = getattr(defence.settings, "allow_reconstruction", getattr(defence.settings, "policy", "") == "trusted")
        guarded = defence.policy is not None and once
        return cls(
            pairs=0.5 if guarded and not shows else None,
            questions=0.0 if guarded and not shows else None,
            averages=0.0 if not shows else None,
        )
