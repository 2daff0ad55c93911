"""Shapley values by group testing: random coalitions, differences between players, and one efficient solution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import number, whole
from fedbary.games.exact import unfinished
from fedbary.games.game import BudgetSpent, Estimate, Game
from fedbary.notes import Note

Floats = NDArray[np.float64]

# Default number of samples per player: what a hundred permutations would cost.
_SAMPLES_PER_PLAYER = 100


def group_testing_shapley(
    game: Game,
    *,
    seed: int,
    samples: int | None = None,
    largest_error: float | None = None,
    centred: bool = True,
    batch: int = 64,
) -> Estimate:
    """Estimate Shapley values from the utilities of random coalitions (Jia et al. 2019; Wang et al. 2020).

    With Z = 2 Σ_{k<N} 1/k, coalitions have k players with probability N / (k·(N − k)·Z), all of a size being equally
    likely, and ΔU_ij = Z/T Σ_t u_t (β_ti − β_tj) estimates φ_i − φ_j, β_ti telling whether i is in the t-th. The values
    that sum to v(N) − v(∅) and fit all differences best by least squares are
    φ_i = (v(N) − v(∅)) / N + mean_j ΔU_ij; they may be negative.

    Parameters
    ----------
    game : Game
        The players and their utility.
    seed : int
        Of the coalitions; they do not depend on the size of the batches.
    samples : int, optional
        Number of coalitions to draw, 100 N if left out. Those drawn again are not computed again.
    largest_error : float, optional
        Stop before, as soon as no player's standard error is larger.
    centred : bool
        Subtract v(∅) + k/N·(v(N) − v(∅)) from the utilities of coalitions of k players. Since all of a size are
        equally likely this changes no expectation, and it takes most of the variance away. With False only v(∅) is
        subtracted, as published.
    batch : int
        Coalitions per call of the utility.

    Returns
    -------
    Estimate
        If the budget runs out, it is from the batches that were completed; if there is none, see `fitted_values`.

    Examples
    --------
    >>> from fedbary.games import Game, exact_shapley
    >>> from fedbary_lab.group_testing import group_testing_shapley
    >>> runway = Game(["small", "middle", "large"], lambda coalitions: (coalitions * [1.0, 2.0, 5.0]).max(axis=1))
    >>> found = group_testing_shapley(runway, seed=0, samples=2000)
    >>> bool((abs(found.values - exact_shapley(runway).values) < 0.2).all()), round(float(found.values.sum()), 9)
    (True, 5.0)
    """
    name = "group_testing_shapley"
    players = len(game)
    seed = whole(seed, "seed", name, least=0)
    samples = _SAMPLES_PER_PLAYER * players if samples is None else whole(samples, "samples", name, least=2)
    batch = whole(batch, "batch", name, least=1)
    wanted = None if largest_error is None else number(largest_error, "largest_error", name)
    since = game.spent
    draws = _Draws(players, seed)
    terms = np.empty((0, players))
    errors = np.full(players, np.nan)
    notes: tuple[Note, ...] = ()
    try:
        total, empty = game.total, game.empty
        if players == 1:
            return Estimate.of(game, np.array([total]), np.zeros(1), since=since)
        while len(terms) < samples and not _small(errors, wanted):
            count = int(min(batch, samples - len(terms), max(1, game.affordable())))
            coalitions = draws.next(count)
            shares = coalitions.mean(axis=1)
            expected = empty + (shares * total if centred else 0.0)
            # Mean over j of (β_ti − β_tj) is β_ti − |S_t| / N.
            new = draws.Z * (game.values(coalitions) - expected)[:, None] * (coalitions - shares[:, None])
            terms = np.concatenate([terms, new])
            errors = _errors(terms)
    except BudgetSpent as spent:
        if len(terms) < 2:
            return unfinished(game, spent, since=since)
        notes = (spent.note, Note("research.fewer-samples", {"drawn": len(terms), "samples": samples}))
    if wanted is not None and not notes and not _small(errors, wanted):
        facts = {"samples": samples, "error": float(errors.max()), "wanted": wanted}
        notes = (Note("research.error-too-large", facts),)
    values = total / players + terms.mean(axis=0)
    return Estimate.of(game, values, errors, since=since, notes=notes)


class _Draws:
    """Coalitions of random sizes, the same ones however many are taken at a time."""

    def __init__(self, players: int, seed: int) -> None:
        sizes = np.arange(1, players)
        self.players = players
        self.Z = float(2.0 * (1.0 / sizes).sum())
        self._up_to = np.cumsum(players / (sizes * (players - sizes)))
        # Two streams, so that neither depends on how the draws of the other are grouped.
        self._size, self._members = np.random.default_rng(seed).spawn(2)

    def next(self, count: int) -> NDArray[np.bool_]:
        sizes = 1 + np.searchsorted(self._up_to, self._size.random(count) * self._up_to[-1], side="right")
        ranks = self._members.random((count, self.players)).argsort(axis=1).argsort(axis=1)
        return np.asarray(ranks < sizes[:, None])


def _errors(terms: Floats) -> Floats:
    if len(terms) < 2:
        return np.full(terms.shape[1], np.nan)
    return np.asarray(terms.std(axis=0, ddof=1) / np.sqrt(len(terms)))


def _small(errors: Floats, wanted: float | None) -> bool:
    return wanted is not None and bool(errors.max() <= wanted)
