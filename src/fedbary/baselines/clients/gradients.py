"""Methods that compare the directions of updates, and need few or no evaluations: CGSV, ShapFed, FedCE."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.baselines.clients.setting import Budget, Setting, need
from fedbary.errors import SettingsError
from fedbary.training import TrainingLog
from fedbary.valuation.scores import ClientScores

Floats = NDArray[np.float64]

_TINY = 1e-7


def cgsv(setting: Setting, *, alpha: float = 0.95, length: float = 0.5, least: float = 1e-3) -> ClientScores:
    """Cosine-gradient Shapley value (Xu et al. 2021); no test set is used.

    Every round: u_i = Γ·Δ_i/‖Δ_i‖, u_N = Σ r_i·u_i, φ_i = cos(u_i, u_N), r ← normalise(max(α·r + (1 − α)·φ, least));
    r starts as the shares of rows.
    """
    log, budget = setting.log, Budget.of(setting)
    counts = np.asarray(log.counts, dtype=float)
    r = counts / counts.sum()
    for number, played in enumerate(log.rounds):
        updates = log.updates(number)
        u = length * updates / (np.linalg.norm(updates, axis=1, keepdims=True) + _TINY)
        together = r[played.selected] @ u
        r[played.selected] = np.maximum(alpha * r[played.selected] + (1 - alpha) * _cosines(u, together), least)
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
    return _scores("shapfed", setting, gamma, budget)


def fedce(setting: Setting) -> ClientScores:
    """Client contribution estimation (FedCE, Jiang et al. 2023), the published "plus" combination.

    With coefficients f (uniform at first) and g = Σ f_i·Δ_i in every round: cos_i = cos(Δ_i, g − f_i·Δ_i), the client's
    update against the others' aggregate, and the *minus* model (θ − f_i·θ_i)/(1 − f_i), whose accuracy a_i on the
    client's own rows is 0 in the first round. f ← normalise(normalise(1 − mean cos) + normalise(1 − mean a)), means
    over rounds. A client is worth more the more it differs from the others and the worse the others do on its rows:
    FedCE rewards what is *new*, so that noise counts as new, too.
    """
    need(setting.evaluate_own, "FedCE", "evaluate_own")
    assert setting.evaluate_own is not None
    log, budget = setting.log, Budget.of(setting)
    count = len(log.names)
    if count < 2:
        raise SettingsError("FedCE compares a client with the others: it needs at least two clients.")
    f = np.full(count, 1.0 / count)
    cosines, accuracies, rounds = np.zeros(count), np.zeros(count), np.zeros(count)
    for number, played in enumerate(log.rounds):
        if number:
            for place, i in enumerate(log.rounds[number - 1].selected):
                minus = (log.global_models[number - 1] - f[i] * log.rounds[number - 1].models[place]) / (1.0 - f[i])
                accuracies[i] += float(setting.evaluate_own(int(i), minus[None])[0])
                budget.spent += 1
        updates, chosen = log.updates(number), played.selected
        together = f[chosen] @ updates
        for place, i in enumerate(chosen):
            cosines[i] += _cosine(updates[place], together - f[i] * updates[place])
            rounds[i] += 1
        played_in = np.maximum(rounds, 1.0)
        f = _normalised(_normalised(1.0 - cosines / played_in) + _normalised(1.0 - accuracies / played_in))
    return _scores("fedce", setting, f, budget)


def _scores(method: str, setting: Setting, values: Floats, budget: Budget) -> ClientScores:
    """Nothing is sampled, so errors are 0."""
    return ClientScores(
        method, setting.clients, values, np.zeros(len(values)), evaluations=budget.spent, seconds=budget.elapsed
    )


def _heads(log: TrainingLog, updates: Floats) -> Floats:
    """The last layer's part of updates: client × class × (weights and bias)."""
    if log.head is None:
        raise SettingsError(
            "ShapFed needs to know where the last layer lies in the weight vectors: give the TrainingLog its 'head'."
        )
    return log.head.rows(updates)


def _cosine(a: Floats, b: Floats) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths > 0.0 else 0.0


def _cosines(vectors: Floats, other: Floats) -> Floats:
    return np.array([_cosine(vector, other) for vector in vectors])


def _normalised(values: Floats) -> Floats:
    total = values.sum()
    return np.asarray(values / total if total > 0 else np.full(len(values), 1.0 / len(values)))
