"""A client's rows as a mixture of the others' classes, moved to where the client is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

_STEPS, _TAIL = 40, 8.0  # steps of EM; degrees of freedom: one odd row does not move a class
_PSEUDO = 3.0  # coordinates' worth of prior behind each number of `SiteEffect`
_DIRECTIONS = 40


@dataclass(frozen=True)
class SiteEffect:
    """How far a site lies from the others, seen where wrong labels cannot show: beside the span of the class means.

    Variances per coordinate of the site's shift and of the shifts of its single classes, the level of its variance,
    and how many rows' worth of belief the others' covariance deserves here.
    """

    shift2: float
    class_shift2: float
    variance: float
    covariance_rows: float


def site_effect(Z: Array, labels: Codes, weight: Array, span: Array, held: Array) -> SiteEffect:
    """Measure a site in at most 40 directions orthogonal to `span`, where all classes of the others have one mean."""
    d, n = Z.shape[1], weight.sum()
    m = min(d - len(span), _DIRECTIONS)
    shift2, class2, spread2, level, dims = _PSEUDO * 0.1, _PSEUDO * 0.05, _PSEUDO * 0.1, 0.0, 0.0
    if m > 0:
        drawn = np.random.default_rng(0).normal(size=(m, d))  # any directions would do: the same at every client
        Y = within_reach(Z @ np.linalg.qr((drawn - (drawn @ span.T) @ span).T)[0])
        mean = weight @ Y / n
        variance = weight @ (Y - mean) ** 2 / n
        shift2 += max(float((mean**2).sum() - variance.sum() / n), 0.0)
        logs = np.log(np.maximum(variance, 1e-3))
        level = float(np.median(logs)) * n / (n + 50)
        spread2 += max(float(((logs - np.median(logs)) ** 2).sum() - 2 * m / n), 0.0)
        use = np.flatnonzero(held >= 5)
        if len(use) > 1:
            share = held[use] / held[use].sum()
            means = np.array([Y[labels == c].mean(0) for c in use])
            noise = variance.sum() * (1 / held[use] - 1 / held[use].sum()).sum()
            class2 += max(float(((means - share @ means) ** 2).sum() - noise), 0.0)
            dims = m * (len(use) - 1.0)
    m = max(m, 0)
    rows = float(np.clip(2 * (_PSEUDO + m) / spread2, 20, 400))  # var(log s²) of a Wishart of r rows is about 2/r
    return SiteEffect(shift2 / (_PSEUDO + m), class2 / (_PSEUDO + dims), float(np.exp(level)), rows)


def within_reach(X: Array, reach: Array | float = 0.0) -> Array:
    """Rows with each coordinate at most `reach` and ten robust spreads from its median: a slipped comma is no shift."""
    middle = np.median(X, axis=0)
    most = reach + 10 * np.maximum(1.4826 * np.median(np.abs(X - middle), axis=0), 0.1)
    return np.asarray(np.clip(X, middle - most, middle + most))


@dataclass(frozen=True)
class Fit:
    """A fitted mixture: penalised log-likelihood, log-likelihood per row, shift, class means, looks (K × K)."""

    objective: float
    rows: Array
    shift: Array
    means: Array
    looks: Array


@dataclass(frozen=True)
class LabelMixture:
    """Rows labelled c come from class k of the others with probability C_ck, moved by one shift a.

    x_i ~ Σ_k C_{y_i k} t₈(x; a + μ_k + δ_k, S) with a ~ N(0, τ²), δ_k ~ N(0, ω²), S around the others' covariance;
    τ, ω and the belief in S are those of `SiteEffect`. Classes in `own` are known to nobody else: their mean is free,
    and no other label can look like them.
    """

    X: Array
    labels: Codes
    weight: Array
    means: Array
    own: Mask
    known: Mask
    site: SiteEffect

    def fit(self, shift: Array, C: Array, means: Array | None = None, *, free: bool = True) -> Fit:
        """Maximise by EM from a start; C stays as it is where `free` is False."""
        X, p, K, weight, a = self.X, self.X.shape[1], len(self.means), self.weight[:, None], shift
        omega2 = np.where(self.own, 1e9, self.site.class_shift2)[:, None]
        moves = np.where(self.own, 0.0, 1.0)[:, None]
        prior = np.where(self.known, 0.5 / max(int(self.known.sum()), 1), 0.0) + np.eye(K)
        target, belief = self.site.variance * np.eye(p), self.site.covariance_rows
        S, mu, objective = target, self.means if means is None else means, -np.inf
        member = np.zeros((len(X), K))
        member[np.arange(len(X)), self.labels] = 1.0
        for step in range(_STEPS):
            root = np.linalg.cholesky(S)
            U, centre = np.linalg.solve(root, X.T).T, np.linalg.solve(root, (mu + moves * a).T).T
            D = np.maximum((U**2).sum(1)[:, None] - 2 * U @ centre.T + (centre**2).sum(1), 0.0)
            log_det = np.log(np.diag(root)).sum()
            log_f = -0.5 * (_TAIL + p) * np.log1p(D / _TAIL) - log_det
            top = log_f.max(1, keepdims=True)
            R = C[self.labels] * np.exp(log_f - top)
            total = np.maximum(R.sum(1, keepdims=True), 1e-300)
            R /= total
            rows, before = np.log(total[:, 0]) + top[:, 0], objective
            penalty = (a**2).sum() / self.site.shift2 + ((mu - self.means) ** 2 / omega2).sum()
            penalty += belief * (2 * log_det + self.site.variance * np.trace(np.linalg.inv(S)))
            objective = float(self.weight @ rows - 0.5 * penalty)
            if step == _STEPS - 1 or (step > 5 and objective - before < 1e-4 * len(X)):
                break
            if free:
                C = member.T @ (R * weight) + prior
                C /= C.sum(1, keepdims=True)
            G = R * weight * (_TAIL + p) / (_TAIL + D)
            g, GX = G.sum(0)[:, None], G.T @ X
            mu = self.means + (GX - g * (self.means + moves * a)) / (g + 1 / omega2)
            a = np.linalg.solve((moves * g).sum() * np.eye(p) + S / self.site.shift2, (moves * (GX - g * mu)).sum(0))
            centre = mu + moves * a
            S = (X * G.sum(1)[:, None]).T @ X - centre.T @ GX - GX.T @ centre + (g * centre).T @ centre
            S = (0.5 * (S + S.T) + belief * target) / (self.weight.sum() + belief)
        J = member.T @ (R * weight)
        size = J.sum(1, keepdims=True)
        return Fit(objective, rows, a, mu, np.where(size > 0, J / np.maximum(size, 1e-12), np.eye(K)))
