"""Methods that compare the directions of updates, and need few or no evaluations: CGSV, ShapFed, FedCE."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.notes import Note
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients.client_game import Budget, Setting, need
from fedbary_lab.training.training_log import TrainingLog

Floats = NDArray[np.float64]

_TINY = 1e-7


def cgsv(setting: Setting, *, alpha: float = 0.95, length: float = 0.5, least: float = 1e-3) -> ClientScores:
    """Cosine-gradient Shapley value (Xu et al. 2021); no test set is used.

    Every round: u_i = Γ·Δ_i/‖Δ_i‖, u_N = Σ w_i·u_i, φ_i = cos(u_i, u_N), r ← normalise(max(α·r + (1 − α)·φ, least));
    w are the shares of rows while all clients of a round are new, and r afterwards. r starts at zero, as in the
    authors' code: started at the shares of rows it would keep most of them, and copying rows would pay.
    """
    log, budget = setting.log, Budget.of(setting)
    counts = np.asarray(log.counts, dtype=float)
    r = np.zeros(len(counts))
    for number, played in enumerate(log.rounds):
        chosen, updates = played.selected, log.updates(number)
        u = length * updates / (np.linalg.norm(updates, axis=1, keepdims=True) + _TINY)
        together = (r if r[chosen].any() else counts / counts.sum())[chosen] @ u
        r[chosen] = np.maximum(alpha * r[chosen] + (1 - alpha) * _cosines(u, together), least)
        r /= r.sum()
    return _scores("cgsv", setting, r, budget)


def shapfed(setting: Setting, *, memory: float = 0.9) -> ClientScores:
    """Class-specific contributions (ShapFed, Tastan et al. 2024), from the last layer's updates; no test set is used.

    γ_i is the mean over classes of the cosine between the client's and the average update of the class's row in the
    last layer, kept as a moving average over rounds.
    """
    log, budget = setting.log, Budget.of(setting)
    counts = np.asarray(log.counts, dtype=float)
    gamma, seen = np.zeros(len(counts)), np.zeros(len(counts), dtype=bool)
    for number, played in enumerate(log.rounds):
        heads = _heads(log, log.updates(number))
        weights = counts[played.selected] / counts[played.selected].sum()
        together = np.einsum("i,icd->cd", weights, heads)
        now = np.array([np.mean([_cosine(a, b) for a, b in zip(head, together, strict=True)]) for head in heads])
        known = seen[played.selected]
        gamma[played.selected] = np.where(known, memory * gamma[played.selected] + (1 - memory) * now, now)
        seen[played.selected] = True
    return _scores("shapfed", setting, np.where(seen, gamma, np.nan), budget)


def fedce(setting: Setting) -> ClientScores:
    """Client contribution estimation (FedCE, Jiang et al. 2023), the published "plus" combination.

    With coefficients f (uniform at first) and g = Σ f_i·Δ_i in every round: cos_i = cos(Δ_i, g − f_i·Δ_i), the client's
    update against the others' aggregate, and a_i, the accuracy on the client's own rows of the *minus* model, the last
    average without the client (0 in the first round). f ← normalise(normalise(1 − mean cos) + normalise(1 − mean a)),
    means over the rounds of the client. A client is worth more the more it differs from the others and the worse the
    others do on its rows: FedCE rewards what is *new*, so that noise counts as new, too.
    """
    need(setting.evaluate_own, "FedCE", "evaluate_own")
    log, budget = setting.log, Budget.of(setting)
    count = len(log.names)
    if count < 2:
        raise SettingsError("research.fedce-of-one-client")
    f = np.full(count, 1.0 / count)
    cosines, accuracies, rounds = np.zeros(count), np.zeros(count), np.zeros(count)
    notes: tuple[Note, ...] = ()
    for number, played in enumerate(log.rounds):
        if not budget.affords(len(log.rounds[number - 1].selected) if number else 0):
            notes = (Note("research.later-rounds-left-out", {"played": number, "rounds": len(log.rounds)}),)
            break
        if number:
            _add_minus_accuracies(setting, number - 1, accuracies, budget)
        updates, chosen = log.updates(number), played.selected
        together = f[chosen] @ updates
        for place, i in enumerate(chosen):
            cosines[i] += _cosine(updates[place], together - f[i] * updates[place])
            rounds[i] += 1
        seen = rounds > 0
        f[seen] = _normalised(
            _normalised(1.0 - cosines[seen] / rounds[seen]) + _normalised(1.0 - accuracies[seen] / rounds[seen])
        )
    return _scores("fedce", setting, np.where(rounds > 0, f, np.nan), budget, notes)


def _add_minus_accuracies(setting: Setting, number: int, accuracies: Floats, budget: Budget) -> None:
    """For each client of a round: how well its average does on the client's rows when the client is taken out."""
    assert setting.evaluate_own is not None
    log = setting.log
    for place, (i, share) in enumerate(zip(log.rounds[number].selected, log.shares(number), strict=True)):
        if share < 1.0:
            minus = (log.global_models[number] - share * log.rounds[number].models[place]) / (1.0 - share)
        else:  # nobody else trained: without the client nothing would have moved
            minus = log.before(number)
        accuracies[i] += float(setting.evaluate_own(int(i), minus[None])[0])
        budget.spent += 1


def _scores(
    method: str, setting: Setting, values: Floats, budget: Budget, notes: tuple[Note, ...] = ()
) -> ClientScores:
    """Nothing is sampled, so errors are 0; a client that no round selected has no value."""
    never = [name for name, value in zip(setting.clients, values, strict=True) if np.isnan(value)]
    silent = tuple(Note("research.never-selected", {"client": name}) for name in never)
    return ClientScores(
        method,
        setting.clients,
        values,
        np.where(np.isnan(values), np.nan, 0.0),
        evaluations=budget.spent,
        seconds=budget.elapsed,
        converged=not notes,
        notes=notes + silent,
    )


def _heads(log: TrainingLog, updates: Floats) -> Floats:
    """The last layer's part of updates: client × class × (weights and bias)."""
    if log.head is None:
        raise SettingsError("research.log-without-head")
    return log.head.rows(updates)


def _cosine(a: Floats, b: Floats) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 0.0 else 0.0


def _cosines(vectors: Floats, other: Floats) -> Floats:
    return np.array([_cosine(vector, other) for vector in vectors])


def _normalised(values: Floats) -> Floats:
    total = values.sum()
    return np.asarray(values / total if total > 0 else np.full(len(values), 1.0 / len(values)))
