"""When to stop drawing permutations: criteria that combine with ``|`` and ``&``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fedbary.checks import number, whole
from fedbary.games.history import History

# Keeps the relative change finite for players whose mean is exactly zero, as in the code of GTG-Shapley.
_TINY = 1e-12


class Stopping(ABC):
    """A criterion that looks at the `History` of a run; combine two with ``|`` (either) or ``&`` (both)."""

    @abstractmethod
    def met(self, history: History) -> bool:
        """Whether to stop."""

    def settled(self, history: History) -> bool | None:
        """Whether the values are as steady as asked; None if nothing was asked about that (a mere limit)."""
        return self.met(history)

    @property
    def most(self) -> int | None:
        """Permutations after which this is met whatever they show, if there is such a number."""
        return None

    def __or__(self, other: Stopping) -> Stopping:
        return _Either(self, other)

    def __and__(self, other: Stopping) -> Stopping:
        return _Both(self, other)


@dataclass(frozen=True)
class MaxPermutations(Stopping):
    """Stop after so many permutations."""

    permutations: int

    def __post_init__(self) -> None:
        whole(self.permutations, "permutations", "MaxPermutations", least=1)

    def met(self, history: History) -> bool:
        """Whether there are as many permutations."""
        return history.permutations >= self.permutations

    def settled(self, history: History) -> bool | None:  # noqa: ARG002 - a limit says nothing about the values
        """Return None: a limit, not a measure."""
        return None

    @property
    def most(self) -> int | None:
        """The limit itself."""
        return self.permutations


@dataclass(frozen=True)
class RelativeChange(Stopping):
    """Stop when the running means have hardly moved, as GTG-Shapley does (Liu et al. 2022).

    After more than ``least`` permutations, each of the last ``window`` running means m_t is compared with the newest,
    m_T: the mean over players of abs(m_t − m_T) / abs(m_T) must be at most ``tolerance`` for all of them. A steady
    mean is no proof of a small error, and players near zero weigh much: see `StandardErrorBelow`.
    """

    tolerance: float = 0.05
    window: int = 10
    least: int = 30

    def __post_init__(self) -> None:
        number(self.tolerance, "tolerance", "RelativeChange", zero=True)
        whole(self.window, "window", "RelativeChange", least=2)
        whole(self.least, "least", "RelativeChange", least=1)

    def met(self, history: History) -> bool:
        """Whether the last running means agree."""
        if history.permutations <= max(self.least, self.window):
            return False
        means = history.running_means(self.window)
        changes = (np.abs(means - means[-1]) / (np.abs(means[-1]) + _TINY)).mean(axis=1)
        return bool(changes.max() <= self.tolerance)


@dataclass(frozen=True)
class StandardErrorBelow(Stopping):
    """Stop when the largest standard error is at most ``limit``, after at least ``least`` permutations.

    With ``relative=True`` the limit is a part of abs(v(N) − v(∅)), otherwise it is in units of the utility.
    """

    limit: float
    relative: bool = False
    least: int = 30

    def __post_init__(self) -> None:
        number(self.limit, "limit", "StandardErrorBelow")
        whole(self.least, "least", "StandardErrorBelow", least=2)

    def met(self, history: History) -> bool:
        """Whether all players' errors are small enough."""
        if history.permutations < self.least:
            return False
        scale = abs(history.total) if self.relative else 1.0
        # NaN, an unknown error, compares as False.
        return bool(history.standard_errors.max() <= self.limit * scale)


@dataclass(frozen=True)
class _Pair(Stopping):
    first: Stopping
    second: Stopping

    def _asked(self, history: History) -> list[bool]:
        answers = (self.first.settled(history), self.second.settled(history))
        return [answer for answer in answers if answer is not None]


class _Either(_Pair):
    def met(self, history: History) -> bool:
        return self.first.met(history) or self.second.met(history)

    def settled(self, history: History) -> bool | None:
        asked = self._asked(history)
        return any(asked) if asked else None

    @property
    def most(self) -> int | None:
        limits = [limit for limit in (self.first.most, self.second.most) if limit is not None]
        return min(limits, default=None)


class _Both(_Pair):
    def met(self, history: History) -> bool:
        return self.first.met(history) and self.second.met(history)

    def settled(self, history: History) -> bool | None:
        asked = self._asked(history)
        return all(asked) if asked else None

    @property
    def most(self) -> int | None:
        first, second = self.first.most, self.second.most
        return None if first is None or second is None else max(first, second)
