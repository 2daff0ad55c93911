"""Methods that play games on models rebuilt from the log, without training again: MR, OR, TMR, FedShapley, GTG."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.games import (
    BudgetSpent,
    Estimate,
    Game,
    MaxPermutations,
    RelativeChange,
    exact_shapley,
    permutation_shapley,
)
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients.client_game import Budget, Setting, in_blocks, scores_of
from fedbary_lab.group_testing import group_testing_shapley

Floats = NDArray[np.float64]
Solve = Callable[[Game, int], Estimate]

# Accuracies are whole numbers of rows: what differs by rounding only is equal.
_ROUNDING = 1e-9
# More players than this would need over a million evaluations a round.
_MOST_PLAYERS = 20
# Liu et al. 2022: more than 30 permutations, and running means that have moved by 5 % or less over the last ten.
_GTG_STOP = RelativeChange(0.05, window=10, least=30) | MaxPermutations(500)


def mr(setting: Setting, *, decay: float = 1.0) -> ClientScores:
    """Song et al. 2019, multi-round: the exact Shapley value of every round's game, summed (times decay^t)."""
    return _rounds("mr", setting, _exactly, decay=decay)


def tmr(setting: Setting, *, between: float = 0.01, decay: float = 1.0) -> ClientScores:
    """Truncated MR: a round that changes the utility by at most ``between`` scores 0 for everybody."""
    return _rounds("tmr", setting, _exactly, between=between, decay=decay)


def one_round(setting: Setting) -> ClientScores:
    """Song et al. 2019, one round (OR): one game at the end, on θ⁰ + Σ_S w_i·Σ_t Δ_i^t."""
    return _at_the_end("or", setting, _exactly)


def gtg(setting: Setting, *, between: float = 0.01, within: float = 0.001) -> ClientScores:
    """GTG-Shapley (Liu et al. 2022): MR's games by guided permutations, truncated between and within rounds."""
    return _rounds("gtg", setting, _sampled(setting, within, guided=True), between=between)


def gtg_ti(setting: Setting, *, within: float = 0.001) -> ClientScores:
    """GTG-Ti: plain permutations, truncated within rounds only."""
    return _rounds("gtg-ti", setting, _sampled(setting, within, guided=False))


def gtg_tib(setting: Setting, *, between: float = 0.01, within: float = 0.001) -> ClientScores:
    """GTG-Tib: plain permutations, truncated within and between rounds."""
    return _rounds("gtg-tib", setting, _sampled(setting, within, guided=False), between=between)


def gtg_oti(setting: Setting, *, within: float = 0.001) -> ClientScores:
    """GTG-OTi: GTG-Ti on the one game of OR."""
    return _at_the_end("gtg-oti", setting, _sampled(setting, within, guided=False))


def fedshapley(
    setting: Setting,
    *,
    how: Literal["permutations", "group-testing"] = "permutations",
    epsilon: float = 0.1,
    delta: float = 0.05,
) -> ClientScores:
    """FedShapley (Wang et al. 2020): every round's game among its selected clients; 0 for the others.

    By as many random permutations as `permutations_for` says, none of them truncated; or exactly where all 2^m
    coalitions are fewer evaluations than that: up to 14 selected clients with the defaults. Or by group testing.
    """

    def solve(game: Game, number: int) -> Estimate:
        seed = _seed(setting, number)
        if how == "group-testing":
            return group_testing_shapley(game, seed=seed)
        count = permutations_for(len(game), epsilon, delta)
        if 2 ** len(game) <= count * len(game):
            return _exactly(game, number)
        return permutation_shapley(game, seed=seed, stop=MaxPermutations(count))

    return _rounds("fedshapley" if how == "permutations" else "fedshapley-gt", setting, solve)


def permutations_for(players: int, epsilon: float, delta: float) -> int:
    """2/ε²·ln(2m/δ) permutations of m players: all values within ε with probability 1 − δ (Wang et al. 2020).

    By Hoeffding's inequality, for utilities between 0 and 1, such as accuracies.

    Examples
    --------
    >>> permutations_for(14, 0.1, 0.05), 14 * permutations_for(14, 0.1, 0.05) >= 2**14
    (1266, True)
    >>> 15 * permutations_for(15, 0.1, 0.05) < 2**15
    True
    """
    return math.ceil(2.0 / epsilon**2 * math.log(2.0 * players / delta))


def round_game(setting: Setting, number: int, budget: Budget) -> Game:
    """The game of a round: the models of the clients that it selected, averaged by their rows."""
    log = setting.log
    played = log.rounds[number]
    counts = log.counts[played.selected].astype(float)
    return _averaging_game(setting, played.selected, counts, played.models, empty=log.before(number), budget=budget)


def _rounds(method: str, setting: Setting, solve: Solve, *, between: float = 0.0, decay: float = 1.0) -> ClientScores:
    """Sum the values of all rounds' games; clients that a round did not select get nothing from it."""
    log, budget = setting.log, Budget.of(setting)
    values, variances = np.zeros(len(log.names)), np.zeros(len(log.names))
    converged, notes, missing = True, list[Note](), 0
    for number, played in enumerate(log.rounds):
        if budget.empty:
            converged = False
            notes.append(Note("research.later-rounds-count-zero", {"played": number, "rounds": len(log.rounds)}))
            missing += len(log.rounds) - number
            break
        game = round_game(setting, number, budget)
        estimate = _unless_flat(game, number, solve, between)
        budget.spent += game.evaluations
        if estimate is not None and np.isnan(estimate.values).any():
            converged, missing = False, missing + 1
            notes.append(Note("research.round-counts-zero", {"round": number, "why": estimate.notes[0]}))
        elif estimate is not None:
            weight = decay**number
            values[played.selected] += weight * estimate.values
            variances[played.selected] += (weight * estimate.standard_errors) ** 2
            converged &= estimate.converged
            notes += [Note("research.in-round", {"round": number, "why": note}) for note in estimate.notes]
    if missing:  # how far off the rounds that were not played leave the sum, nobody knows
        variances[:] = np.nan
    if missing == len(log.rounds):
        values[:] = np.nan
    total = Estimate(log.names, values, np.sqrt(variances), budget.spent, budget.elapsed, converged, 0, tuple(notes))
    return scores_of(method, setting, total, budget)


def _unless_flat(game: Game, number: int, solve: Solve, between: float) -> Estimate | None:
    """Solve a round's game, or None where the round hardly changed the utility."""
    if between > 0.0:
        try:
            if abs(game.total) <= between + _ROUNDING:
                return None
        except BudgetSpent:
            pass  # the estimator meets the same budget and says so
    return solve(game, number)


def _at_the_end(method: str, setting: Setting, solve: Solve) -> ClientScores:
    log, budget = setting.log, Budget.of(setting)
    moved = np.zeros((len(log.names), len(log.initial)))
    for number, played in enumerate(log.rounds):
        moved[played.selected] += log.updates(number)
    counts = log.counts.astype(float)
    everybody = np.arange(len(log.names))
    game = _averaging_game(setting, everybody, counts, log.initial + moved, empty=log.initial, budget=budget)
    estimate = solve(game, 0)
    budget.spent = game.evaluations
    return scores_of(method, setting, estimate, budget)


def _averaging_game(
    setting: Setting, members: NDArray[np.int64], counts: Floats, models: Floats, *, empty: Floats, budget: Budget
) -> Game:
    """v(S) = utility of the members' models averaged by their row counts; v(∅) = utility of ``empty``."""

    def utility(coalitions: NDArray[np.bool_]) -> Floats:
        weights = coalitions * counts
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        vectors = weights @ models
        vectors[sums[:, 0] == 0] = empty
        return setting.evaluate(vectors)

    return budget.game([setting.log.names[i] for i in members], in_blocks(utility, models.shape[1]))


def _exactly(game: Game, number: int) -> Estimate:  # noqa: ARG001 - every round is solved alike
    if len(game) > _MOST_PLAYERS:
        raise SettingsError("research.too-many-clients-to-evaluate", clients=len(game), most=_MOST_PLAYERS)
    return exact_shapley(game, most_players=_MOST_PLAYERS)


def _sampled(setting: Setting, truncation: float, *, guided: bool) -> Solve:
    """GTG's sampling and its stop."""

    def solve(game: Game, number: int) -> Estimate:
        return permutation_shapley(
            game, seed=_seed(setting, number), truncation=truncation, guided=guided, stop=_GTG_STOP
        )

    return solve


def _seed(setting: Setting, number: int) -> int:
    return setting.seed + 7919 * number
