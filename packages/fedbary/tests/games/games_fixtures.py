"""Solved games of several kinds, and games with a budget or a record of what was asked of them."""

import numpy as np
import oracles

from fedbary.games import Game

SOLVED = {
    "airport": lambda: oracles.airport([1.0, 2.0, 2.0, 5.0, 9.0]),
    "glove": lambda: oracles.glove(2, 3),
    "additive": lambda: oracles.additive([0.3, -0.2, 0.0, 1.5], base=0.1),
    "symmetric": lambda: oracles.symmetric([0.1, 0.5, 0.8, 0.85, 0.7, 0.9]),
    "majority": lambda: oracles.majority(6),
    "dummies": lambda: oracles.with_dummies(oracles.glove(1, 2), 2),
    "weighted sum": lambda: oracles.weighted_sum([1.0, -2.0], [oracles.airport([1.0, 2.0, 4.0]), oracles.glove(1, 2)]),
    "one player": lambda: oracles.additive([0.7], base=0.1),
}


def limited(solved, **limits):
    return Game(solved.game.players, solved.game.utility, **limits)


def table_game(table):
    """A game of N players from its 2^N utilities; bit i of the index says whether player i is in."""
    table = np.asarray(table, dtype=float)
    players = int(np.log2(len(table)))
    return Game([str(at) for at in range(players)], lambda coalitions: table[coalitions @ (1 << np.arange(players))])


def recorded(utility, players):
    """A game and the list of batches its utility was given."""
    batches = []

    def asked(coalitions):
        batches.append(coalitions.copy())
        return utility(coalitions)

    return Game([str(at) for at in range(players)], asked), batches
