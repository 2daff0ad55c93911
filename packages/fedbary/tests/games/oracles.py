"""Games whose Shapley values are known in closed form: what every estimator must get right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import whole
from fedbary.errors import wrong_parameter
from fedbary.games.game import Game

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solved:
    """A game with its Shapley values.

    Examples
    --------
    >>> import oracles
    >>> oracles.majority(4).values
    array([0.25, 0.25, 0.25, 0.25])
    """

    game: Game
    values: Floats


def airport(costs: Sequence[float]) -> Solved:
    """Build a runway as long as its largest plane needs: v(S) = max of costs; each stretch is shared by its users.

    Examples
    --------
    >>> import oracles
    >>> oracles.airport([1.0, 2.0, 5.0]).values.round(6).tolist()
    [0.333333, 0.833333, 3.833333]
    """
    needs = np.asarray(costs, dtype=np.float64)
    if needs.ndim != 1 or not (needs >= 0).all():
        raise wrong_parameter("costs", "airport", "numbers, zero or above", costs)
    order = np.argsort(needs)
    users = np.arange(len(needs), 0, -1)
    values = np.empty(len(needs))
    values[order] = np.cumsum(np.diff(needs[order], prepend=0.0) / users)
    return _solved(values, lambda coalitions: np.where(coalitions, needs, 0.0).max(axis=1))


def glove(left: int, right: int) -> Solved:
    """Pair gloves: v(S) = min(left gloves, right gloves in S); players with left gloves come first.

    A left glove adds a pair if fewer left than right ones came before it, which is counted over all predecessors.

    Examples
    --------
    >>> import oracles
    >>> oracles.glove(1, 2).values.round(6).tolist()
    [0.666667, 0.166667, 0.166667]
    """
    left, right = whole(left, "left", "glove", least=1), whole(right, "right", "glove", least=1)
    values = np.repeat([_pairs_made(left, right), _pairs_made(right, left)], [left, right])
    return _solved(
        values, lambda coalitions: np.minimum(coalitions[:, :left].sum(axis=1), coalitions[:, left:].sum(axis=1))
    )


def additive(worths: Sequence[float], *, base: float = 0.0) -> Solved:
    """Add up what each player is worth alone: v(S) = base + Σ worths.

    Examples
    --------
    >>> import oracles
    >>> oracles.additive([1.0, -2.0], base=0.5).game.grand
    -0.5
    """
    worth = np.asarray(worths, dtype=np.float64)
    return _solved(worth.copy(), lambda coalitions: base + coalitions @ worth)


def symmetric(utilities: Sequence[float]) -> Solved:
    """Count players only: ``utilities[k]`` is the utility of every coalition of k, for k = 0, …, N.

    Examples
    --------
    >>> import oracles
    >>> oracles.symmetric([1.0, 5.0, 4.0]).values
    array([1.5, 1.5])
    """
    by_size = np.asarray(utilities, dtype=np.float64)
    players = len(by_size) - 1
    values = np.full(players, (by_size[-1] - by_size[0]) / players)
    return _solved(values, lambda coalitions: by_size[coalitions.sum(axis=1)])


def majority(players: int) -> Solved:
    """Vote: a coalition wins 1 if it has more than half of all players.

    Examples
    --------
    >>> import oracles
    >>> oracles.majority(3).game.values(np.array([[True, False, True]]))
    array([1.])
    """
    players = whole(players, "players", "majority", least=1)
    return symmetric([float(2 * size > players) for size in range(players + 1)])


def with_dummies(solved: Solved, dummies: int) -> Solved:
    """Add players who change nothing to a solved game; their value is 0.

    Examples
    --------
    >>> import oracles
    >>> oracles.with_dummies(oracles.majority(2), 1).values
    array([0.5, 0.5, 0. ])
    """
    real = len(solved.game)
    values = np.concatenate([solved.values, np.zeros(whole(dummies, "dummies", "with_dummies", least=1))])
    return _solved(values, lambda coalitions: np.asarray(solved.game.utility(coalitions[:, :real])))


def weighted_sum(weights: Sequence[float], games: Sequence[Solved]) -> Solved:
    """Add up games of equally many players, each times its weight; so do their values.

    Examples
    --------
    >>> import oracles
    >>> oracles.weighted_sum([2.0, -1.0], [oracles.majority(2), oracles.additive([1.0, 3.0])]).values
    array([ 0., -2.])
    """
    counts = {len(solved.game) for solved in games}
    if len(weights) != len(games) or len(counts) != 1:
        raise wrong_parameter("games", "weighted_sum", "a game for each weight, all of one size", sorted(counts))
    terms = list(zip(weights, games, strict=True))
    values = np.sum([weight * solved.values for weight, solved in terms], axis=0)
    return _solved(
        values, lambda coalitions: np.sum([w * np.asarray(one.game.utility(coalitions)) for w, one in terms], axis=0)
    )


def _solved(values: Floats, utility: Callable[[Bools], Floats]) -> Solved:
    return Solved(Game([f"player {at + 1}" for at in range(len(values))], utility), values)


def _pairs_made(own: int, other: int) -> float:
    """Chance that a glove of a kind there are ``own`` of finds more of the ``other`` kind before it."""
    players = own + other
    return sum(
        comb(own - 1, mine) * comb(other, theirs) / comb(players - 1, mine + theirs)
        for mine in range(own)
        for theirs in range(mine + 1, other + 1)
    ) / players  # fmt: skip
