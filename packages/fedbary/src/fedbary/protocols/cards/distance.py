"""Distances of cards: Gelbrich's bound in the joint space of features and label, and the target that it is taken to.

A card has the mean and the covariance of its client's points with their label coordinates, and these alone bound the
Wasserstein distance from below (`fedbary.transport.bures`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.weights import Weights
from fedbary.space.fit import whitening_matrix
from fedbary.transport.bures import bures_barycenter, bures_squared

Floats = NDArray[np.float64]

_SHRINKAGE = 0.2
# Beyond this width distances are taken in the principal directions of all cards: so many as a whole, the others one by
# one. Squared distances add up over orthogonal directions, so the bound stays one.
_WIDE, _DIRECTIONS = 128, 64


@dataclass(frozen=True, eq=False)
class Apart:
    """Distances of cards to their target, and the target's own spread."""

    distances: Floats
    spread: float


def apart(
    parts: Sequence[ClassMoments], weights: Weights, target: ClassMoments | None = None, *, numeric: bool = False
) -> Apart:
    """Distances of all cards to a target, without one to their barycenter."""
    width = parts[0].sums.shape[1]
    if width <= _WIDE or numeric or not all(part.full for part in parts):
        aim = barycenter(parts, weights) if target is None else target
        return Apart(distances(parts, aim, numeric=numeric), spread(aim, numeric=numeric))
    directions = _principal(parts, weights)
    heads = [_turned(part, directions[:, :_DIRECTIONS]) for part in parts]
    tails = [_turned(part, directions[:, _DIRECTIONS:]).diagonal() for part in parts]
    if target is None:
        head, tail = barycenter(heads, weights), barycenter(tails, weights)
    else:
        head, tail = (_turned(target, part) for part in (directions[:, :_DIRECTIONS], directions[:, _DIRECTIONS:]))
    tail = _unlabelled(tail.diagonal())
    found = np.hypot(distances(heads, head), distances([_unlabelled(part) for part in tails], tail))
    return Apart(found, float(np.hypot(spread(head), spread(tail))))


def barycenter(parts: Sequence[ClassMoments], weights: Weights) -> ClassMoments:
    """The Bures–Wasserstein barycenter of cards, as the moments of a client whose rows sum to one.

    Class shares are the clients' mean, class means those of their holders (none counts more than the median holder),
    and the covariance within classes is the barycenter of theirs. A label that is a number is one coordinate more.
    """
    full = all(part.full for part in parts)
    parts = list(parts) if full else [part.diagonal() for part in parts]
    counts = np.stack([np.maximum(part.counts, 0.0) for part in parts]) * weights.classes
    rows = counts.sum(axis=1)
    heard = np.flatnonzero((rows > 0) & (weights.cards > 0))
    believed = weights.cards[heard]
    shares = believed / believed.sum() @ (counts[heard] / rows[heard, None])
    capped = np.minimum(counts[heard], [np.median(own[own > 0]) if (own > 0).any() else 0.0 for own in counts[heard].T])
    capped *= believed[:, None]
    totals = np.einsum("ik,ikd->kd", capped, np.stack([parts[place].means for place in heard]))
    means = totals / np.maximum(capped.sum(axis=0), np.finfo(float).tiny)[:, None]
    covariances = [parts[place].within() / max(parts[place].rows, 1.0) for place in heard]
    if full:
        within = bures_barycenter(covariances, believed)
    else:
        within = (believed / believed.sum() @ np.sqrt(np.maximum(covariances, 0.0))) ** 2
    between = (shares[:, None] * means).T @ means if full else shares @ means**2
    return ClassMoments(shares, shares[:, None] * means, within + between)


def distances(parts: Sequence[ClassMoments], target: ClassMoments, *, numeric: bool = False) -> Floats:
    """Lower bounds of the Wasserstein distances of clients to a target; NaN for a card without rows.

    Features are whitened by the target's covariance within classes (its covariance, where the label is a number), and
    two labels are as far apart as two of its rows are on average. For exact cards the bound is certified for the rows
    that they were made of; with noise, or if cells were clipped, it is an estimate. Between cards without products of
    coordinates it is that of their variances.
    """
    if not (target.full and all(part.full for part in parts)):
        target, parts = target.diagonal(), [part.diagonal() for part in parts]
    space = _JointSpace.of(target, numeric=numeric)
    aim = space.place(target)
    found = [aim.gelbrich(space.place(part)) if part.rows > 0 else np.nan for part in parts]
    return np.asarray(np.sqrt(np.array(found)))


def spread(target: ClassMoments, *, numeric: bool = False) -> float:
    """The root of the mean squared distance of the target's rows from their mean, in the same space."""
    placed = _JointSpace.of(target, numeric=numeric).place(target)
    return float(np.sqrt(max(sum(float(np.trace(block)) for block in placed.blocks) + placed.variances.sum(), 0.0)))


def _principal(parts: Sequence[ClassMoments], weights: Weights) -> Floats:
    """The principal directions of all cards' covariance within classes, the widest first."""
    total = sum(weight * part.within() for weight, part in zip(weights.cards, parts, strict=True) if weight > 0)
    return np.asarray(np.linalg.eigh(total)[1][:, ::-1])


def _turned(part: ClassMoments, directions: Floats) -> ClassMoments:
    return ClassMoments(part.counts, part.sums @ directions, directions.T @ part.second @ directions, part.noise)


def _unlabelled(part: ClassMoments) -> ClassMoments:
    """All rows as of one class, so that labels are not counted twice."""
    return ClassMoments(np.array([part.rows]), part.sums.sum(axis=0, keepdims=True), part.second, part.noise)


@dataclass(frozen=True, eq=False)
class _Moments:
    """A mean, and a covariance as far as it is known: blocks on its diagonal, then variances of single coordinates."""

    mean: Floats
    blocks: tuple[Floats, ...]
    variances: Floats

    def gelbrich(self, other: _Moments) -> float:
        """‖Δμ‖² and, block by block, Bures²."""
        apart = float(((self.mean - other.mean) ** 2).sum())
        apart += sum(bures_squared(own, its) for own, its in zip(self.blocks, other.blocks, strict=True))
        return apart + float(((np.sqrt(self.variances) - np.sqrt(other.variances)) ** 2).sum())


@dataclass(frozen=True, eq=False)
class _JointSpace:
    """Features in a metric, and label coordinates: K − 1 for K classes, whose distances are those of one-hot ones."""

    metric: Floats
    label: Floats
    numeric: bool

    @classmethod
    def of(cls, target: ClassMoments, *, numeric: bool) -> _JointSpace:
        rows = max(target.rows, np.finfo(float).tiny)
        keep = target.sums.shape[1] - numeric
        features = ClassMoments(
            target.counts, target.sums[:, :keep], target.second[:keep, :keep] if target.full else target.second[:keep]
        )
        covariance = features.within() / rows
        if target.full:
            metric = whitening_matrix(covariance, _SHRINKAGE)
        else:
            metric = np.diag(whitening_matrix(np.diag(covariance), _SHRINKAGE)).copy()
        mean = features.sums.sum(axis=0) / rows
        if target.full:
            total = float(np.trace(metric @ (features.second / rows - np.outer(mean, mean)) @ metric))
        else:
            total = float((metric**2) @ (features.second / rows - mean**2))
        apart = 2.0 * max(total, 0.0)  # E‖x − x'‖² of two rows
        if numeric:
            return cls(metric, np.sqrt(apart) * np.eye(1), numeric)
        classes = len(target.counts)
        return cls(
            metric, np.sqrt(apart / 2.0) * (helmert(classes) if classes > 1 else np.zeros((0, classes))), numeric
        )

    def place(self, part: ClassMoments) -> _Moments:
        rows = part.rows
        share = np.maximum(part.counts, 0.0) / max(float(np.maximum(part.counts, 0.0).sum()), np.finfo(float).tiny)
        mean = part.sums.sum(axis=0) / rows
        if self.numeric:
            return self._with_number(part, mean)
        label_mean = self.label @ share
        label = self.label @ (np.diag(share) - np.outer(share, share)) @ self.label.T
        if not part.full:
            variances = np.maximum(part.second / rows - mean**2, 0.0) * self.metric**2
            return _Moments(np.concatenate([mean * self.metric, label_mean]), (label,), variances)
        covariance = self.metric @ (part.second / rows - np.outer(mean, mean)) @ self.metric
        cross = self.metric @ (part.sums / rows - np.outer(share, mean)).T @ self.label.T
        joint = _covariance_of(part, np.block([[covariance, cross], [cross.T, label]]))
        return _Moments(np.concatenate([self.metric @ mean, label_mean]), (joint,), np.zeros(0))

    def _with_number(self, part: ClassMoments, mean: Floats) -> _Moments:
        if not part.full:
            scale = np.append(self.metric, self.label)
            return _Moments(mean * scale, (), np.maximum(part.second / part.rows - mean**2, 0.0) * scale**2)
        width = len(self.metric)
        scaling = np.zeros((width + 1, width + 1))
        scaling[:width, :width], scaling[width:, width:] = self.metric, self.label
        covariance = _covariance_of(part, scaling @ (part.second / part.rows - np.outer(mean, mean)) @ scaling)
        return _Moments(scaling @ mean, (covariance,), np.zeros(0))


def _covariance_of(part: ClassMoments, matrix: Floats) -> Floats:
    """The matrix itself, or the nearest that is a covariance where noise was added."""
    if part.noise == EXACT:
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
