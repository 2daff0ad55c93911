"""Shapley values as mean marginal contributions over random permutations: plain, truncated or guided.

A run ends by a criterion that looks at its `History`; criteria combine with ``|`` and ``&``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import number, whole
from fedbary.errors import wrong_parameter
from fedbary.games.exact import unfinished
from fedbary.games.game import BudgetSpent, Estimate, Floats, Game
from fedbary.notes import Note

Ints = NDArray[np.int64]

# Permutations walked together unless told otherwise: batches for the utility, and little overshoot of the criterion.
_WAVE = 8
# Utilities that differ from the threshold by rounding only have reached it.
_ROUNDING = 1e-9
# Without a criterion of the caller's, no run is longer than this.
_MOST_PERMUTATIONS = 1000
# Keeps the relative change finite for players whose mean is exactly zero, as in the code of GTG-Shapley.
_TINY = 1e-12


def permutation_shapley(
    game: Game,
    *,
    seed: int,
    truncation: float = 0.0,
    guided: bool = False,
    stop: Stopping | None = None,
    wave: int | None = None,
) -> Estimate:
    """Estimate Shapley values by what each player adds to its predecessors in random permutations.

    With ``truncation`` this is TMC-Shapley (Ghorbani and Zou 2019), guided as well it is the sampling of GTG-Shapley
    (Liu et al. 2022). Without truncation the values sum to v(N) − v(∅), with it to within ``truncation`` of that.

    Parameters
    ----------
    game : Game
        The players and their utility.
    seed : int
        Of the permutations; they do not depend on the size of the waves.
    truncation : float
        Once abs(v(N) − v(predecessors)) is below this, the rest of a permutation counts 0 and is not computed.
    guided : bool
        Draw permutations in sweeps of N in which each player comes first once, in random order, the rest at random.
        Standard errors then take sweeps as their units, once there are two.
    stop : Stopping, optional
        When to stop, ``RelativeChange() | MaxPermutations(1000)`` if left out. It is asked after each wave.
    wave : int, optional
        Permutations that are walked side by side, so that each step is one batch for the utility. A sweep if guided,
        otherwise 8; fewer when the game's budget would not pay for them.

    Returns
    -------
    Estimate
        If the budget runs out, it is from the waves that were completed; if there is none, see `fitted_values`.
    """
    seed = whole(seed, "seed", "permutation_shapley", least=0)
    truncation = number(truncation, "truncation", "permutation_shapley", zero=True)
    players = len(game)
    width = (players if guided else _WAVE) if wave is None else whole(wave, "wave", "permutation_shapley", least=1)
    stop = RelativeChange() | MaxPermutations(_MOST_PERMUTATIONS) if stop is None else stop
    if not isinstance(stop, Stopping):
        raise wrong_parameter("stop", "permutation_shapley", "a stopping criterion such as MaxPermutations(100)", stop)
    since = game.spent
    orders = _orders(players, seed, guided)
    history: History | None = None
    notes: tuple[Note, ...] = ()
    try:
        history = History(np.empty((0, players)), total=game.total, sweep=players if guided else 1)
        while not history.permutations or not stop.met(history):
            count = width if stop.most is None else min(width, max(1, stop.most - history.permutations))
            # Short of budget, a few permutations to their end are worth more than the beginnings of many.
            count = int(min(count, max(1.0, game.affordable() / max(1, players - 1))))
            history = history.extended(_walk(game, np.array(list(islice(orders, count))), truncation))
    except BudgetSpent as spent:
        if history is None or not history.permutations:
            return unfinished(game, spent, since=since)
        notes = (spent.note,)
    done = history.permutations
    if not notes and stop.settled(history) is False:
        notes = (Note("games.not-steady", {"permutations": done}),)
    return Estimate.of(game, history.means, history.standard_errors, since=since, notes=notes, permutations=done)


def _orders(players: int, seed: int, guided: bool) -> Iterator[Ints]:
    """Permutations without end. Each alone is uniform, guided or not, so any number of them is unbiased."""
    rng = np.random.default_rng(seed)
    while True:
        if not guided:
            yield rng.permutation(players)
            continue
        for first in rng.permutation(players):
            yield np.concatenate([[first], rng.permutation(np.delete(np.arange(players), first))])


def _walk(game: Game, orders: Ints, truncation: float) -> Floats:
    """Marginal contributions of the players in several permutations, walked in step."""
    count, players = orders.shape
    grand = game.grand
    previous = np.full(count, game.empty)
    coalitions = np.zeros((count, players), dtype=bool)
    marginals = np.zeros((count, players))
    walking = np.arange(count)
    for step in range(players):
        # A truncated permutation leaves the walk: nothing is computed for it, and nothing enters the cache.
        walking = walking[np.abs(grand - previous[walking]) >= truncation - _ROUNDING]
        if not len(walking):
            break
        joining = orders[walking, step]
        coalitions[walking, joining] = True
        utilities = game.values(coalitions[walking])
        marginals[walking, joining] = utilities - previous[walking]
        previous[walking] = utilities
    return marginals


@dataclass(frozen=True, eq=False)
class History:
    """What a run over permutations has seen.

    Attributes
    ----------
    marginals : (permutations, N) array
        Marginal contribution of each player in each permutation.
    total : float
        v(N) − v(∅).
    sweep : int
        Number of permutations that were drawn together and are not independent: N if guided, otherwise 1.
    """

    marginals: Floats
    total: float
    sweep: int = 1

    @property
    def permutations(self) -> int:
        """Number of permutations so far."""
        return len(self.marginals)

    @property
    def means(self) -> Floats:
        """The estimate so far; NaN before the first permutation."""
        return self.running_means(1)[0] if self.permutations else np.full(self.marginals.shape[1], np.nan)

    def running_means(self, last: int) -> Floats:
        """Return the estimates after each of the ``last`` permutations, the newest at the end."""
        first = max(0, self.permutations - last)
        sums = self.marginals[:first].sum(axis=0) + np.cumsum(self.marginals[first:], axis=0)
        return np.asarray(sums / np.arange(first + 1, self.permutations + 1)[:, None])

    @property
    def standard_errors(self) -> Floats:
        """Sample standard deviation / √count, NaN for fewer than two.

        The units are the means of whole sweeps as soon as there are two. Before, they are permutations: those of a
        guided sweep differ more among themselves than independent ones, so this errs on the large side.
        """
        sweeps = self.permutations // self.sweep
        units = self.marginals
        if self.sweep > 1 and sweeps >= 2:
            units = units[: sweeps * self.sweep].reshape(sweeps, self.sweep, -1).mean(axis=1)
        if len(units) < 2:
            return np.full(self.marginals.shape[1], np.nan)
        return np.asarray(units.std(axis=0, ddof=1) / np.sqrt(len(units)))

    def extended(self, marginals: Floats) -> History:
        """Return the history with more permutations at its end."""
        return History(np.concatenate([self.marginals, marginals]), self.total, self.sweep)


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
        return _Combined(self, other, every=False)

    def __and__(self, other: Stopping) -> Stopping:
        return _Combined(self, other, every=True)


@dataclass(frozen=True)
class MaxPermutations(Stopping):
    """Stop after so many permutations."""

    permutations: int

    def __post_init__(self) -> None:
        whole(self.permutations, "permutations", "MaxPermutations", least=1)

    def met(self, history: History) -> bool:
        return history.permutations >= self.permutations

    def settled(self, history: History) -> bool | None:  # noqa: ARG002 - a limit says nothing about the values
        return None

    @property
    def most(self) -> int | None:
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
        scale = abs(history.total) if self.relative else 1.0
        # NaN, an unknown error, compares as False.
        return history.permutations >= self.least and bool(history.standard_errors.max() <= self.limit * scale)


@dataclass(frozen=True)
class _Combined(Stopping):
    """Either of two criteria, or both."""

    first: Stopping
    second: Stopping
    every: bool

    def met(self, history: History) -> bool:
        join = all if self.every else any
        return join(one.met(history) for one in (self.first, self.second))

    def settled(self, history: History) -> bool | None:
        answers = (self.first.settled(history), self.second.settled(history))
        known = [answer for answer in answers if answer is not None]
        join = all if self.every else any
        return join(known) if known else None

    @property
    def most(self) -> int | None:
        limits = [limit for limit in (self.first.most, self.second.most) if limit is not None]
        if self.every:
            return max(limits) if len(limits) == 2 else None
        return min(limits, default=None)
