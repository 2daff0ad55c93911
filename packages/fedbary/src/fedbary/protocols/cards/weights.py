"""Robust weights: how far each card may be believed, told by the others in closed form (DESIGN 2.5).

A client whose labels are random has class means that hardly differ; one whose features are noise has too wide a
covariance; a forged class lies elsewhere than everybody else's. All three are seen in the cards themselves, as long as
most holders of each class are honest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.cards.class_moments import EXACT, ClassMoments, repaired

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Of two means that differ nobody can say which is right.
_FEWEST_HOLDERS = 3
# Slopes are compared with this quantile of them: with up to four liars in ten it is an honest client's.
_HONEST = 0.6
# A slope below .3 of an honest one has no weight, one above .7 all of it; the same for the part that is believed.
_NO_WEIGHT, _FULL_WEIGHT = 0.3, 0.7
# Scatter of up to twice the usual costs nothing.
_USUAL_SCATTER = 2.0
# A class mean that is more than this many times as far off as usual is not believed.
_TOO_FAR = 3.0
# Standard deviations of the noise in a slope that are given the benefit of the doubt.
_EXCUSED = 2.0
_SHRINKAGE = 0.1
_PASSES = 3


@dataclass(frozen=True, eq=False)
class Weights:
    """How far cards are believed: a weight in [0, 1] each, the classes that count, and slopes.

    Attributes
    ----------
    cards : array (N,)
        Weights of whole cards.
    classes : array (N, K) of bool
        Whether a card's class counts. False only for classes that contradict those of the other holders.
    slopes : array (N,)
        β: how far a client's class means differ in the directions in which everybody's do; 1 for means that agree,
        about 1 − K/(K − 1)·ρ where a share ρ of labels is random. NaN where nothing can be said.
    """

    cards: Floats
    classes: Bools
    slopes: Floats

    @classmethod
    def of_all(cls, parts: Sequence[ClassMoments]) -> Weights:
        """Everybody is believed, whatever the others say."""
        shape = len(parts), len(parts[0].counts)
        return cls(np.ones(shape[0]), np.ones(shape, dtype=bool), np.full(shape[0], np.nan))

    def applied(self, parts: Sequence[ClassMoments]) -> list[ClassMoments]:
        """The cards as far as they are believed; with classes goes their scatter, as much of it as they have rows."""
        applied = []
        for part, counts, weight in zip(parts, self.classes, self.cards, strict=True):
            dropped, left = ~counts & (part.counts > 0), part
            if dropped.any():
                sums = np.where(dropped[:, None], 0.0, part.sums)
                left = replace(part, counts=np.where(dropped, 0.0, part.counts), sums=sums)
                within = part.within() * (left.rows / max(part.rows, np.finfo(float).tiny))
                left = replace(left, second=within - replace(left, second=np.zeros_like(part.second)).within())
            applied.append(left.times(float(weight)))
        return applied


def robust_weights(parts: Sequence[ClassMoments], *, trusted: Sequence[int] = (), numeric: bool = False) -> Weights:
    """Weigh cards by how they agree with the majority of the others.

    In the metric of the entrywise median of the within covariances, r_c is the weighted median of the class means a_ic,
    β_i = Σ_c p_ic ⟨a_ic − ā_i, r_c − r̄_i⟩ / Σ_c p_ic ‖r_c − r̄_i‖², and t_i = tr(W̃⁻¹W_i)/d. A weight is
    clip((β_i/Q.₆(β) − .3)/.4, 0, 1) · min(1, 2·median(t)/t_i)² · clip((b_i − .3)/.4, 0, 1), found three times, each
    time with medians weighted by what was found before. A class is not believed where √n_ic‖a_ic − r_c‖ exceeds three
    times the median of its holders, and b_i is the share of a card's rows in classes that are. Noise of differential
    privacy excuses what it explains: two standard deviations are added to β_i.

    Parameters
    ----------
    parts : sequence of ClassMoments
        Cards in the same coordinates. Where any is diagonal, diagonals are compared; noise of differential privacy is
        taken into account.
    trusted : sequence of int
        Positions of cards with full weight, come what may: the reference.
    numeric : bool
        The label is a number and the last coordinate: β_i is the slope of the client's labels on what the median of
        all covariances predicts.
    """
    if not parts:
        return Weights(np.zeros(0), np.zeros((0, 0), dtype=bool), np.zeros(0))
    if not all(part.full for part in parts):
        parts = [part.diagonal() for part in parts]
    held = np.stack([part.counts > max(0.0, np.sqrt(part.noise.count)) for part in parts])
    covariances = np.stack([_covariance(part) for part in parts])
    heard = np.asarray(held.any(axis=1))
    if heard.sum() < _FEWEST_HOLDERS:
        return Weights.of_all(parts)
    inverse, root = _metric(np.median(covariances[heard], axis=0))
    # t = tr(W̃⁻¹W)/d. Noise may leave no scatter at all.
    scatter = np.array([float((inverse * covariance).sum()) / len(covariance) for covariance in covariances])
    calm, usual = np.ones(len(parts)), _USUAL_SCATTER * float(np.median(scatter[heard]))
    if usual > 0.0:
        calm = (usual / np.maximum(scatter, usual)) ** 2
    believed, weights = np.ones(held.shape, dtype=bool), np.ones(len(parts))
    if numeric:
        slopes = _number_slopes(covariances, inverse)
        weights = _agreeing(slopes) * calm
    else:
        means = np.stack([part.means * root if root.ndim == 1 else part.means @ root for part in parts])
        counts = np.stack([np.where(own, part.counts, 0.0) for part, own in zip(parts, held, strict=True)])
        rows = counts.sum(axis=1)
        # Whoever claims more rows than the median card has no more say.
        most = float(np.median(rows[rows > 0]))
        votes = counts * (most / np.maximum(rows, most))[:, None]
        # How much variance the noise of a sum has per coordinate, in this metric.
        blur = np.array([part.noise.sum for part in parts])
        blur = blur * float((inverse if inverse.ndim == 1 else np.diag(inverse)).mean())
        slopes = np.full(len(parts), np.nan)
        for _ in range(_PASSES):
            middle = _class_medians(means, votes, weights)
            slopes, excused = _class_slopes(means, counts, middle, blur)
            believed = _near(means, counts, middle, blur)
            # Who forges most classes need not be right in the others.
            share = (counts * believed).sum(axis=1) / np.maximum(rows, np.finfo(float).tiny)
            mostly = calm * _ramp(np.where(rows > 0, share, 1.0))
            weights = _agreeing(slopes, excused) * mostly
            # Of three cards a single one in other units has a slope beside which the honest ones are flat.
            if not weights.any():
                weights = mostly if mostly.any() else np.ones(len(parts))
    weights[list(trusted)], believed[list(trusted)] = 1.0, True
    return Weights(weights, believed, slopes)


def _metric(covariance: Floats) -> tuple[Floats, Floats]:
    """The inverse of a shrunk covariance and its root, both as matrices, or coordinate by coordinate."""
    diagonal = covariance if covariance.ndim == 1 else np.diag(covariance)
    # Entrywise medians need not be positive definite, and columns may be constant.
    level = max(float(np.maximum(diagonal, 0.0).mean()), np.finfo(float).tiny)
    if covariance.ndim == 1:
        inverse = 1.0 / ((1.0 - _SHRINKAGE) * np.maximum(covariance, 0.0) + _SHRINKAGE * level)
        return inverse, np.sqrt(inverse)
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    inverse = 1.0 / ((1.0 - _SHRINKAGE) * np.maximum(values, 0.0) + _SHRINKAGE * level)
    return (vectors * inverse) @ vectors.T, vectors * np.sqrt(inverse)


def _covariance(part: ClassMoments) -> Floats:
    """Of one card's rows about its class means; where there is noise, as far as it tells."""
    if part.noise == EXACT:
        return part.within() / max(part.rows, 1.0)
    found = repaired(part)[2]
    return found if part.full else np.diag(found)


def _agreeing(slopes: Floats, excused: Floats | float = 0.0) -> Floats:
    """Weights by slopes and what noise excuses of them, one where nothing can be said."""
    known = np.isfinite(slopes)
    if known.sum() < _FEWEST_HOLDERS or (honest := float(np.quantile(slopes[known], _HONEST))) <= 0.0:
        return np.ones(len(slopes))
    return _ramp(np.where(known, (slopes + excused) / honest, 1.0))


def _ramp(share: Floats) -> Floats:
    return np.asarray(np.clip((share - _NO_WEIGHT) / (_FULL_WEIGHT - _NO_WEIGHT), 0.0, 1.0))


def _class_medians(means: Floats, votes: Floats, weights: Floats) -> Floats:
    """Weighted coordinate medians (K, d) of class means; NaN for classes with fewer than three holders.

    No holder of a class has more votes than the median one. A median is the middle of those points where half of the
    weight lies on either side.
    """
    middle = np.full(means.shape[1:], np.nan)
    take = np.arange(means.shape[2])
    for code in range(means.shape[1]):
        holders = np.flatnonzero((votes[:, code] > 0) & (weights > 0))
        if len(holders) >= _FEWEST_HOLDERS:
            own = votes[holders, code]
            say = np.minimum(own, np.median(own)) * weights[holders]
            order = np.argsort(means[holders, code], axis=0)
            ordered = np.take_along_axis(means[holders, code], order, axis=0)
            reached = np.cumsum(say[order], axis=0) / say.sum()
            low, high = (reached >= 0.5 - 1e-9).argmax(axis=0), (reached > 0.5 + 1e-9).argmax(axis=0)
            middle[code] = (ordered[low, take] + ordered[high, take]) / 2.0
    return middle


def _class_slopes(means: Floats, counts: Floats, middle: Floats, blur: Floats) -> tuple[Floats, Floats]:
    """β of every card, and what noise may have taken from it; NaN with fewer than two classes that have a median."""
    known = np.isfinite(middle).all(axis=1)
    slopes, excused = np.full((2, len(means)), np.nan)
    for place, (own, number) in enumerate(zip(means, counts, strict=True)):
        used = known & (number > 0)
        if used.sum() < 2:
            continue
        share = number[used] / number[used].sum()
        ours, theirs = own[used] - share @ own[used], middle[used] - share @ middle[used]
        spread = float(share @ (theirs**2).sum(axis=1))
        if spread > 0.0:
            slopes[place] = float(share @ (ours * theirs).sum(axis=1)) / spread
            error = float((share / number[used]) ** 2 @ (theirs**2).sum(axis=1)) * blur[place]
            excused[place] = _EXCUSED * np.sqrt(error) / spread
    return slopes, excused


def _number_slopes(covariances: Floats, inverse: Floats) -> Floats:
    """β where labels are numbers, the last coordinate; NaN where products with it are not known."""
    if covariances.ndim == 2:
        return np.full(len(covariances), np.nan)
    # The rows of an inverse covariance are regressions of a coordinate on all others.
    predictor = -inverse[-1, :-1] / inverse[-1, -1]
    along = np.array([predictor @ covariance[:-1, -1] for covariance in covariances])
    spread = np.array([predictor @ covariance[:-1, :-1] @ predictor for covariance in covariances])
    return np.asarray(np.where(spread > 0.0, along / np.maximum(spread, np.finfo(float).tiny), np.nan))


def _near(means: Floats, counts: Floats, middle: Floats, blur: Floats) -> Bools:
    """Which classes of cards lie where the others' do; noise of differential privacy widens what is usual."""
    near = np.ones(counts.shape, dtype=bool)
    for code in np.flatnonzero(np.isfinite(middle).all(axis=1)):
        holders = np.flatnonzero(counts[:, code] > 0)
        number = counts[holders, code]
        away = np.sqrt(number / (1.0 + blur[holders] / number))
        away *= np.linalg.norm(means[holders, code] - middle[code], axis=1)
        # What chance explains, about √d, is never too far: some cards may be copies of each other.
        near[holders, code] = away <= _TOO_FAR * max(float(np.median(away)), np.sqrt(means.shape[2]))
    return near
