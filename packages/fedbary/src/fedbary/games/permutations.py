"""Shapley values as mean marginal contributions over random permutations: plain, truncated or guided."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import number, whole
from fedbary.errors import wrong_parameter
from fedbary.games.estimate import Estimate
from fedbary.games.fitted import unfinished
from fedbary.games.game import BudgetSpent, Game
from fedbary.games.history import History
from fedbary.games.stopping import MaxPermutations, RelativeChange, Stopping
from fedbary.notes import Note

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Permutations walked together unless told otherwise: batches for the utility, and little overshoot of the criterion.
_WAVE = 8
# Utilities that differ from the threshold by rounding only have reached it.
_ROUNDING = 1e-9
# Without a criterion of the caller's, no run is longer than this.
_MOST_PERMUTATIONS = 1000


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
    unsettled = stop.settled(history) is False
    if unsettled and not notes:
        notes = (Note("games.not-steady", {"permutations": history.permutations}),)
    return Estimate.of(
        game,
        history.means,
        history.standard_errors,
        since=since,
        converged=not notes,
        permutations=history.permutations,
        notes=notes,
    )


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
