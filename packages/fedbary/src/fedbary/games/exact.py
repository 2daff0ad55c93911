"""Values without sampling: Shapley values from all coalitions, and leave-one-out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import whole
from fedbary.errors import SettingsError
from fedbary.games.estimate import Estimate
from fedbary.games.fitted import unfinished
from fedbary.games.game import BudgetSpent, Game
from fedbary.notes import Note

# Coalitions that are handed to the utility at a time.
_AT_A_TIME = 2**16


def exact_shapley(game: Game, *, most_players: int = 20) -> Estimate:
    """Compute φ_i = Σ_{S∌i} [v(S∪i) − v(S)] / (N·C(N−1,|S|)) from all 2^N coalitions.

    Small coalitions and their complements are computed first: if the game's budget runs out, the values are those
    that fit the known coalitions best (`fitted_values`), and ``converged`` is False.

    Parameters
    ----------
    game : Game
        The players and their utility.
    most_players : int
        Refuse games with more players than this.
    """
    players = len(game)
    if players > whole(most_players, "most_players", "exact_shapley", least=1):
        raise SettingsError("games.too-many-players", most=most_players, players=players)
    since = game.spent
    index = np.arange(2**players)
    sizes = np.bitwise_count(index).astype(np.int64)
    utilities = np.empty(2**players)
    # Complements next to each other: small coalitions alone would say too much about a player's first contribution.
    complement = 2**players - 1 - index
    order = np.lexsort((index, np.minimum(index, complement), np.minimum(sizes, players - sizes)))
    try:
        for first in range(0, len(order), _AT_A_TIME):
            chunk = order[first : first + _AT_A_TIME]
            utilities[chunk] = game.values((chunk[:, None] >> np.arange(players)) & 1 == 1)
    except BudgetSpent as spent:
        return unfinished(game, spent, since=since)
    weights = np.array([1.0 / (players * math.comb(players - 1, size)) for size in range(players)])
    values = np.empty(players)
    for player in range(players):
        # The middle axis is the player's bit: without it, with it.
        shape = (-1, 2, 2**player)
        paired = utilities.reshape(shape)
        values[player] = (weights[sizes.reshape(shape)[:, 0]] * (paired[:, 1] - paired[:, 0])).sum()
    return Estimate.of(game, values, np.zeros(players), since=since)


def leave_one_out(game: Game) -> Estimate:
    """Compute v(N) − v(N∖i), what is lost without the player; these do not add up to v(N) − v(∅).

    If the game's budget runs out, the values that could not be computed are NaN and ``converged`` is False.
    """
    since = game.spent
    coalitions = np.vstack([np.ones((1, len(game)), dtype=bool), ~np.eye(len(game), dtype=bool)])
    notes: tuple[Note, ...] = ()
    try:
        utilities = game.values(coalitions)
    except BudgetSpent as spent:
        utilities = game.known_values(coalitions)
        missing = int(np.isnan(utilities[0] - utilities[1:]).sum())
        notes = (spent.note, Note("games.unknown-values", {"unknown": missing, "players": len(game)}))
    values: NDArray[np.float64] = utilities[0] - utilities[1:]
    errors = np.where(np.isnan(values), np.nan, 0.0)
    return Estimate.of(game, values, errors, since=since, converged=not notes, notes=notes)
