"""ComFedSV: coalitions of clients that a round did not select are completed by a matrix of low rank."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.games import BudgetSpent, Estimate, Game, exact_shapley
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients.client_game import Budget, Setting, scores_of
from fedbary_lab.baselines.clients.reconstructed import round_game

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# With so many clients or fewer every coalition is a column of the utility matrix: at most 1,023 evaluations a round.
_MOST_FOR_ALL = 10
_SWEEPS, _STILL = 500, 1e-10


def comfedsv(setting: Setting, *, rank: int = 1, ridge: float = 1e-8) -> ClientScores:
    """Completed federated Shapley value (Fan et al. 2022).

    The utility matrix U[t, S] = v_t(S) − v_t(∅) has a row for every round and a column for every coalition; a round
    knows the coalitions of the clients that it selected. `completed` fills in the others, and the value is the Shapley
    value of Σ_t U[t, ·]: two clients with the same rows get the same, however often each was selected. One round must
    have selected everybody, as there would be coalitions that no round knows. Where all rounds did, it is MR.

    Up to ten clients all coalitions are columns; beyond, those that N·ln N random permutations pass through.
    """
    log, budget = setting.log, Budget.of(setting)
    players = len(log.names)
    if not any(len(played.selected) == players for played in log.rounds):
        raise SettingsError("research.no-round-of-everybody")
    orders = _orders(players, setting.seed)
    columns = _all_coalitions(players) if orders is None else _passed(orders)
    known, notes = np.full((len(log.rounds), len(columns)), np.nan), list[Note]()
    for number, played in enumerate(log.rounds):
        inside = ~np.delete(columns, played.selected, axis=1).any(axis=1)
        game = round_game(setting, number, budget)
        asked = columns[inside][:, played.selected]
        try:
            known[number, inside] = game.values(asked) - game.empty
        except BudgetSpent as spent:
            known[number, inside] = game.known_values(asked) - game.known_values(np.zeros_like(asked[:1]))
            notes.append(spent.note)
        budget.spent += game.evaluations
    filled = not np.isnan(known).any()
    summed = completed(known, rank=rank, ridge=ridge).sum(axis=0)
    values, errors = _shapley(log.names, summed, orders)
    total = Estimate(
        log.names,
        values,
        errors if filled else np.full(players, np.nan),  # how far off the completion is, nobody knows
        budget.spent,
        budget.elapsed,
        converged=not notes,
        notes=tuple(notes[:1]),
    )
    return scores_of("comfedsv", setting, total, budget)


def completed(known: Floats, *, rank: int = 1, ridge: float = 1e-8) -> Floats:
    """Fill in the NaN of a matrix by W·Hᵀ, which fits its known entries best.

    W and H have ``rank`` columns and minimise Σ_known (U − W·Hᵀ)² + λ·(‖W‖² + ‖H‖²), by least squares for one and the
    other in turn, from the singular vectors of the matrix with 0 for NaN. λ is ``ridge`` in units of the known entries'
    root mean square. Known entries stay as they are; a column without any is NaN.

    Examples
    --------
    >>> completed(np.array([[1.0, 2.0, 3.0], [2.0, np.nan, np.nan]])).round(3)
    array([[1., 2., 3.],
           [2., 4., 6.]])
    """
    there = ~np.isnan(known)
    scale = float(np.sqrt(np.mean(known[there] ** 2))) if there.any() else 0.0
    if there.all() or scale == 0.0:
        return np.where(there, known, np.where(there.any(axis=0), 0.0, np.nan))
    target, weight = np.where(there, known, 0.0) / scale, there.astype(float)
    u, sizes, v = np.linalg.svd(target, full_matrices=False)
    rank = min(rank, len(sizes))
    W, H = u[:, :rank] * np.sqrt(sizes[:rank]), v[:rank].T * np.sqrt(sizes[:rank])
    for _ in range(_SWEEPS):
        W = _fitted(weight, target, H, ridge)
        before, H = H, _fitted(weight.T, target.T, W, ridge)
        if np.abs(H - before).max() <= _STILL:
            break
    guessed = np.where(there.any(axis=0), scale * (W @ H.T), np.nan)
    return np.where(there, known, guessed)


def _fitted(weight: Floats, target: Floats, factor: Floats, ridge: float) -> Floats:
    """The other factor, row by row: weighted least squares with a ridge."""
    normal = np.einsum("ij,jr,js->irs", weight, factor, factor) + ridge * np.eye(factor.shape[1])
    return np.asarray(np.linalg.solve(normal, (target @ factor)[..., None])[..., 0])


def _all_coalitions(players: int) -> Bools:
    return np.asarray((np.arange(1, 2**players)[:, None] >> np.arange(players)) & 1 == 1)


def _orders(players: int, seed: int) -> NDArray[np.int64] | None:
    """N·ln N permutations, or None where all coalitions are affordable."""
    if players <= _MOST_FOR_ALL:
        return None
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(players) for _ in range(math.ceil(players * math.log(players)))])


def _passed(orders: NDArray[np.int64]) -> Bools:
    """The coalitions of the first 1, 2, …, N players of every permutation."""
    places = orders.argsort(axis=1)
    steps = np.arange(orders.shape[1])
    return np.asarray(places[:, None, :] <= steps[None, :, None]).reshape(-1, orders.shape[1])


def _shapley(names: tuple[str, ...], utilities: Floats, orders: NDArray[np.int64] | None) -> tuple[Floats, Floats]:
    """Values and their standard errors, NaN where a utility is unknown."""
    players = len(names)
    if np.isnan(utilities).any():
        return np.full(players, np.nan), np.full(players, np.nan)
    if orders is None:
        of = np.concatenate([[0.0], utilities])
        found = exact_shapley(Game(names, lambda coalitions: of[coalitions @ (1 << np.arange(players))]))
        return found.values, found.standard_errors
    steps = np.diff(utilities.reshape(len(orders), players), axis=1, prepend=0.0)
    marginals = np.take_along_axis(steps, orders.argsort(axis=1), axis=1)
    return marginals.mean(axis=0), marginals.std(axis=0, ddof=1) / math.sqrt(len(orders))
