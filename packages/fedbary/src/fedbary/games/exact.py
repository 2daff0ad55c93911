"""Values without sampling: Shapley values from all coalitions or from those that are known, and leave-one-out."""

from __future__ import annotations

import math

import numpy as np

from fedbary.checks import whole
from fedbary.errors import SettingsError
from fedbary.games.game import BudgetSpent, Estimate, Floats, Game, Spent
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
    values: Floats = utilities[0] - utilities[1:]
    errors = np.where(np.isnan(values), np.nan, 0.0)
    return Estimate.of(game, values, errors, since=since, notes=notes)


def fitted_values(game: Game) -> Floats:
    """Fit values φ with Σ φ_i = v(N) − v(∅) to the coalitions in a game's cache; computes nothing.

    Shapley values minimise Σ_S (v(S) − v(∅) − Σ_{i∈S} φ_i)² / (|S|·(N − |S|)·C(N, |S|)) under that constraint
    (Charnes et al. 1988). With the known coalitions of a size standing for all of that size, this is exact when all
    are known; where they do not determine φ it is the solution nearest to an equal split, and with none but N and ∅
    it is the equal split. NaN if v(N) or v(∅) is unknown.
    """
    players = len(game)
    grand, empty = game.known_values(np.array([[True], [False]]).repeat(players, axis=1))
    if not np.isfinite(grand - empty):
        return np.full(players, np.nan)
    equal = (grand - empty) / players
    coalitions = game.known_coalitions()
    sizes = coalitions.sum(axis=1)
    inner = (sizes > 0) & (sizes < players)
    coalitions, sizes = coalitions[inner], sizes[inner]
    if not len(sizes):
        return np.full(players, equal)
    scale = 1.0 / np.sqrt(sizes * (players - sizes) * np.bincount(sizes)[sizes])
    # In deviations from the equal split every row sums to zero, so that the solution of least norm does as well:
    # the constraint needs no multiplier.
    rows = (coalitions - sizes[:, None] / players) * scale[:, None]
    rest = (game.known_values(coalitions) - empty - sizes * equal) * scale
    return np.asarray(equal + np.linalg.lstsq(rows, rest, rcond=None)[0])


def unfinished(game: Game, spent: BudgetSpent, *, since: Spent) -> Estimate:
    """Make the estimate of a method whose budget ran out before it had anything of its own to show."""
    values = fitted_values(game)
    fallback = Note("games.fitted", {"coalitions": len(game.known_coalitions())})
    if np.isnan(values).any():
        fallback = Note("games.no-estimate")
    return Estimate.of(game, values, np.full(len(game), np.nan), since=since, notes=(spent.note, fallback))
