"""Shapley values fitted to whatever coalitions a game knows: what is left when a budget runs out early."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.games.estimate import Estimate
from fedbary.games.game import BudgetSpent, Game, Spent
from fedbary.notes import Note

Floats = NDArray[np.float64]


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
    if np.isnan(values).any():
        fallback = Note("games.no-estimate")
    else:
        fallback = Note("games.fitted", {"coalitions": len(game.known_coalitions())})
    unknown = np.full(len(game), np.nan)
    return Estimate.of(game, values, unknown, since=since, converged=False, notes=(spent.note, fallback))
