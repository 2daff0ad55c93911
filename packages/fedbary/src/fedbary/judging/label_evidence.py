"""What a client finds in its own labels: which class of the others the rows of each label look like.

`LabelMixture` fits the rows as a mixture of the others' classes, moved to where the client is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.competition import with_others

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

_STEPS, _TAIL = 40, 8.0  # steps of EM; degrees of freedom: one odd row does not move a class
_PSEUDO = 3.0  # coordinates' worth of prior behind each number of `SiteEffect`
_DIRECTIONS = 40
_MOST_ROWS, _MOST_ROWS_PER_CLASS, _MOST_COORDINATES = 4000, 400, 40
_UNKNOWN = -999.0  # stands for a number that is not known
_LEAST_ROWS = 5  # of a label, before anything is said about it
_CONTAMINATION = 0.05  # the share of wrong labels that "as stated" allows for


@dataclass(frozen=True)
class LabelEvidence:
    """What a client sends about its labels: K × K shares, 3 K numbers and two scalars, of all its rows together.

    Attributes
    ----------
    counts, judged : ndarray of shape (K,)
        Rows per label, and how many of them were looked at.
    looks : ndarray of shape (K, K)
        `looks[c, k]`: the share of the rows labelled c that look like class k of the others; as stated for labels of
        fewer than five rows.
    gain : ndarray of shape (K,)
        Mean log-likelihood per row of a label that free labels gain over the stated ones, in nats.
    nats : float
        The same for all rows together, less the cost of the shifts that each needs.
    slope : float
        λ = Σ_c n_c ⟨x̄_c − x̄, μ_c − μ̄⟩ / Σ_c n_c ‖μ_c − μ̄‖²; not a number with less than two classes of five rows.
    """

    counts: Array
    judged: Array
    looks: Array
    gain: Array
    nats: float
    slope: float

    def to_arrays(self) -> dict[str, Array]:
        """For a reply."""
        numbers = np.array([self.nats, self.slope])
        return {
            "label.counts": self.counts,
            "label.judged": self.judged,
            "label.looks": self.looks,
            "label.gain": self.gain,
            "label.numbers": np.nan_to_num(numbers, nan=_UNKNOWN),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], classes: int) -> LabelEvidence | None:
        """What `to_arrays` gave, as a client sent it; None where that is not about these classes."""
        parts = [arrays.get(f"label.{name}") for name in ("counts", "judged", "looks", "gain", "numbers")]
        shapes = [None if part is None else part.shape for part in parts]
        if shapes != [(classes,), (classes,), (classes, classes), (classes,), (2,)]:
            return None
        counts, judged, looks, gain, numbers = (np.asarray(part, dtype=np.float64) for part in parts)
        if not np.allclose(looks.sum(axis=1), 1.0, atol=1e-3):
            return None
        nats, slope = np.where(numbers <= _UNKNOWN, np.nan, numbers).tolist()
        return cls(counts, judged, looks, gain, nats, slope)

    @property
    def stated(self) -> Array:
        """The class shares that the labels say."""
        return np.asarray(self.counts / max(self.counts.sum(), 1.0))

    @property
    def fitted(self) -> Array:
        """The class shares that the rows look like."""
        return self.stated @ self.looks

    @property
    def T(self) -> float:  # noqa: N802 - the letter of DESIGN 2
        """How much the features contradict the labels: nats per row."""
        return float(self.stated @ self.gain)

    @property
    def gap(self) -> float:
        """Total variation between the stated and the fitted shares."""
        return float(0.5 * np.abs(self.stated - self.fitted).sum())


def label_evidence(Z: Array, codes: Codes, M: Array, model_counts: Array, *, least: int = 1) -> LabelEvidence:
    """Compare a client's labels with what its rows look like.

    Rows are taken to the span of the others' class means (all that a common covariance leaves of the classes) and
    fitted by `LabelMixture` twice: with the labels as stated, and with free shares C_ck.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        The client's rows, whitened by the others' covariance within classes.
    codes : ndarray of shape (n,)
        Labels 0 … K−1.
    M : ndarray of shape (K, d)
        The others' class means in the same coordinates.
    model_counts : ndarray of shape (K,)
        Rows behind each of them; 0 where nobody else has the class.
    least : int
        Labels of fewer rows are said to look as stated. From 2 on no row lies farther out in any direction than so many
        do, labels and looks of fewer rows do not leave, and all else does in coarse steps: M is a server's choice, and
        might speak of a single row.
    """
    K, d = M.shape
    counts = np.bincount(codes, minlength=K).astype(float)
    known = model_counts > 0
    if known.sum() < 2 or not len(codes):
        return _of_groups(LabelEvidence(counts, counts, np.eye(K), np.zeros(K), 0.0, np.nan), least)
    rows, weight = _sample(codes, counts)
    labels, judged = codes[rows], np.bincount(codes[rows], minlength=K).astype(float)
    others = model_counts / model_counts.sum()
    offset = np.where(known[:, None], M - others @ M, 0.0)
    span = np.linalg.svd(offset * np.sqrt(others)[:, None], full_matrices=False)[2]
    span = span[: min(int(known.sum()) - 1, d, _MOST_COORDINATES)]
    # Means of few rows look further apart than they are: d/n_c of their squared length is noise.
    noise = d / np.maximum(model_counts, 1.0) * (1 - others)
    mu = (offset * np.clip(1 - noise / np.maximum((offset**2).sum(1), 1e-12), 0.2, 1.0)[:, None]) @ span.T
    Y = _within_groups(Z[rows] - others @ M, least)
    X = within_reach(_within_groups(Y @ span.T, least), np.ptp(mu, axis=0))
    site = site_effect(Y, labels, weight, span, judged * known)

    own = ~known & (counts > 0)
    start = np.array([X[labels == c].mean(0) if own[c] else mu[c] for c in range(K)])
    mixture = LabelMixture(X, labels, weight, start, own, known, site)
    as_stated = (1 - _CONTAMINATION) * np.eye(K) + _CONTAMINATION * known / known.sum()
    anything, xbar = 0.5 * np.eye(K) + 0.5 * others, np.average(X, axis=0, weights=weight)
    stated = mixture.fit(xbar - counts / counts.sum() @ start, as_stated, free=False)
    # Shares and a shift along the class means can be taken for each other: several starts, and the best of them.
    free = max(
        mixture.fit(stated.shift, as_stated, stated.means),
        mixture.fit(np.zeros_like(xbar), anything),
        mixture.fit(xbar - others @ start, anything),
        key=lambda fit: fit.objective,
    )
    gain = np.array([(free.rows - stated.rows)[labels == c].mean() if judged[c] else 0.0 for c in range(K)])
    looks = free.looks.copy()
    for c in np.flatnonzero(own):
        off = (free.means[c] - free.means - free.shift) ** 2
        k = _same_class(off.sum(1) + _beside(Y, labels == c, known[labels], span), mu, known)
        if k is not None:
            looks[c, k], looks[c, c] = looks[c, k] + looks[c, c], 0.0
    few = judged < max(least, _LEAST_ROWS)
    looks[few], gain[few] = np.eye(K)[few], 0.0  # a share of one row would be that row
    slope = _slope(X, labels, mu, judged * (model_counts >= _LEAST_ROWS))
    found = LabelEvidence(counts, judged, looks, gain, free.objective - stated.objective, slope)
    return _of_groups(found, least)


def _of_groups(found: LabelEvidence, least: int) -> LabelEvidence:
    """The same without what fewer rows than a group tell."""
    if least < 2:
        return found
    looks = np.where(found.looks * found.judged[:, None] < least - 0.5, 0.0, np.round(found.looks, 2))
    alone = looks.sum(axis=1) <= 0.0
    looks[alone] = np.eye(len(looks))[alone]
    own, top = np.arange(len(looks)), looks.argmax(axis=1)
    looks[own, top] += 1.0 - looks.sum(axis=1)
    counts, judged = (np.where(found.counts < least, 0.0, rows) for rows in (found.counts, found.judged))
    nats, slope = round(found.nats), round(found.slope, 2)
    return LabelEvidence(counts, judged, looks, np.round(found.gain, 2), nats, slope)


def _within_groups(X: Array, least: int) -> Array:
    """Rows of which none lies farther from the middle, in any coordinate, than ``least`` of them."""
    return X if least < 2 or not len(X) else with_others(X.T, np.median(X, axis=0)[:, None], least).T


def _sample(codes: Codes, counts: Array) -> tuple[Codes, Array]:
    """Rows by a fixed stride within each label, 400 of each where there are, and how many each stands for."""
    rows, weight = [], []
    least = min(_MOST_ROWS_PER_CLASS, 2 * _MOST_ROWS // max(int((counts > 0).sum()), 1))
    for c in np.flatnonzero(counts):
        members = np.flatnonzero(codes == c)
        most = max(least, int(_MOST_ROWS * counts[c] / counts.sum()))
        rows.append(members[:: -(-len(members) // most)])
        weight.append(np.full(len(rows[-1]), len(members) / len(rows[-1])))
    return np.concatenate(rows), np.concatenate(weight)


def _beside(Y: Array, mine: Mask, rest: Mask, span: Array) -> float:
    """Squared distance, orthogonal to the class means' span, between a label of the client's own and its other rows."""
    step = Y[mine].mean(0) - (Y[rest].mean(0) if rest.any() else 0.0)
    noise = (Y.shape[1] - len(span)) * (1 / mine.sum() + (1 / rest.sum() if rest.any() else 0.0))
    return max(float((step**2).sum() - ((span @ step) ** 2).sum() - noise), 0.0)


def _same_class(distance: Array, mu: Array, known: Mask) -> int | None:
    """The others' class that lies much nearer than classes lie to each other; None for a class that is new."""
    classes = np.flatnonzero(known)
    k = int(classes[np.argmin(distance[classes])])
    apart = min(float(((mu[k] - mu[o]) ** 2).sum()) for o in classes if o != k)
    return k if distance[k] < apart / 4 else None


def _slope(X: Array, labels: Codes, mu: Array, rows: Array) -> float:
    use = np.flatnonzero(rows >= _LEAST_ROWS)
    if len(use) < 2:
        return float("nan")
    share, means = rows[use] / rows[use].sum(), np.array([X[labels == c].mean(0) for c in use])
    meant = mu[use] - share @ mu[use]
    apart = float(share @ (meant**2).sum(1))
    return float(share @ ((means - share @ means) * meant).sum(1) / apart) if apart > 0.0 else float("nan")


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
