"""What a client finds in its own labels: which class of the others the rows of each label look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbary.judging.competition import with_others
from fedbary.judging.label_mixture import Array, Codes, LabelMixture, Mask, site_effect, within_reach

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
    found = _label_evidence(Z, codes, M, model_counts, least)
    return found if least < 2 else _of_groups(found, least)


def _of_groups(found: LabelEvidence, least: int) -> LabelEvidence:
    """The same without what fewer rows than a group tell."""
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


def _label_evidence(Z: Array, codes: Codes, M: Array, model_counts: Array, least: int) -> LabelEvidence:
    K, d = M.shape
    counts = np.bincount(codes, minlength=K).astype(float)
    known = model_counts > 0
    if known.sum() < 2 or not len(codes):
        return LabelEvidence(counts, counts, np.eye(K), np.zeros(K), 0.0, np.nan)
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
    return LabelEvidence(counts, judged, looks, gain, free.objective - stated.objective, slope)


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
