"""`worth`: what each client adds to the others, as the Shapley value of a game that is played on cards (DESIGN 2.8).

The cards of a coalition add up to the card of its pooled rows, so the linear classifiers that these rows would give are
known without them. v(S) is the accuracy of those classifiers on the judge's rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv, dpotrf

from fedbary.games import Estimate, Game, MaxPermutations, StandardErrorBelow, exact_shapley, permutation_shapley
from fedbary.protocols.cards import Cards
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.space.labels import class_positions
from fedbary.space.schema import Schema
from fedbary.valuation.clients import ClientScores

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]
Utility = Callable[[Bools], Floats]

# Coordinates of the game unless told otherwise, chosen by `fedbary reproduce worth` (decision 037).
COORDINATES = 56
# Permutations go on until every standard error is below this part of v(N) − v(∅).
_SMALL_ERROR = 0.01
# Values below this are what rounding leaves of zero: accuracies are shares of rows.
_ZERO = 1e-12
# More rows make the accuracy hardly more exact, and every coalition slower.
_MOST_JUDGES = 5000
_DRAWN = 2000
_SHRINKAGE = 0.05
_METRIC_SHRINKAGE = 0.2
_PSEUDO_ROWS = 2.0
# Distances in many coordinates are overconfident beside the class prior.
_TEMPERATURE = 0.3
# Penalty of the ridge regression: rows of the variance that coordinates have on average.
_RIDGE = 5.0
# R² of a coalition that is worse than saying the mean by far; a lower floor would let one coalition decide.
_WORST = -1.0
_AT_A_TIME = 64
_ROUNDING = 1e-6
_POWERS = 2


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows that coalitions are tested on: points in the coordinates of the cards, and class codes or numbers."""

    points: Floats
    labels: Integers | Floats

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return bool(np.issubdtype(self.labels.dtype, np.floating))


def reference_judge(points: Floats, labels: NDArray[np.generic], schema: Schema, *, seed: int) -> Judge | None:
    """Rows of a reference, at most 5000 and of classes that the schema knows; None if there are none.

    ``points`` are in the schema's coordinates, ``labels`` names of classes or numbers.
    """
    found: Integers | Floats
    if schema.label.kind == "number":
        found = schema.label.standardised(labels)
        rows = np.arange(len(found))
    else:
        found = class_positions(labels, schema.label.classes)
        rows = np.flatnonzero(found >= 0)
    if len(rows) > _MOST_JUDGES:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MOST_JUDGES, replace=False))
    return Judge(points[rows], found[rows]) if len(rows) else None


def drawn_judge(total: ClassMoments, *, seed: int, numeric: bool = False) -> Judge:
    """Rows drawn from the class means and the covariance of cards, all classes alike: *self-consistency*.

    Nobody knows how frequent classes are; by the clients' counts those that most clients have would decide.
    """
    rng = np.random.default_rng(seed)
    rows = max(total.rows, np.finfo(float).tiny)
    covariance = total.within() / rows
    width = total.sums.shape[1]
    if total.full:
        values, vectors = np.linalg.eigh(covariance)
        noise = rng.standard_normal((_DRAWN, width)) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    else:
        noise = rng.standard_normal((_DRAWN, width)) * np.sqrt(np.maximum(covariance, 0.0))
    if numeric:
        joint = total.means[0] + noise
        return Judge(joint[:, :-1], joint[:, -1])
    held = np.flatnonzero(total.counts > 0)
    codes = held[np.arange(_DRAWN) % len(held)]
    return Judge(total.means[codes] + noise, codes)


def play_worth(parts: Mapping[str, ClassMoments], judge: Judge, settings: Cards, *, seed: int) -> ClientScores:
    """Shapley values of the clients whose cards these are.

    The game is played in fixed coordinates: the discriminant and the principal directions of the judge's rows, never
    anything that is fitted on cards, so that a client without rows is worth exactly nothing. Where a card lacks
    products of coordinates, or has noise in them, or they make no covariance, the judge's covariance inside classes
    stands for its own. v(∅) is chance, 1/K, or R² = 0 where the label is a number.

    Parameters
    ----------
    parts : mapping of str to ClassMoments
        Players and their cards, in the coordinates of the judge; a label that is a number is one coordinate more.
    judge : Judge
        Rows that coalitions are tested on.
    settings : Cards
        Its ``exact_up_to``, ``permutations`` and ``coordinates``.
    seed : int
        Of the permutations.
    """
    started = time.perf_counter()
    players = list(parts)
    game = Game(players, utility(list(parts.values()), judge, coordinates=settings.coordinates or COORDINATES))
    found = _shapley(game, settings, seed=seed)
    return ClientScores(
        "cards",
        tuple(players),
        np.where(np.abs(found.values) < _ZERO, 0.0, found.values),
        found.standard_errors,
        evaluations=found.evaluations,
        seconds=time.perf_counter() - started,
        converged=found.converged,
        notes=found.notes,
    )


def utility(parts: list[ClassMoments], judge: Judge, *, coordinates: int = COORDINATES) -> Utility:
    """V for batches of coalitions of these cards."""
    directions = public_directions(judge, coordinates)
    judge = replace(judge, points=judge.points @ directions)
    within = _covariance(judge)
    if judge.numeric:
        return _explained([_played_with_number(part, directions, within) for part in parts], judge)
    return _accuracy([_played(part, directions, within) for part in parts], judge)


def public_directions(judge: Judge, coordinates: int) -> Floats:
    """An orthonormal basis (d, k) of the judge's discriminant and, for the rest, principal directions."""
    width = judge.points.shape[1]
    if width <= coordinates:
        return np.eye(width)
    points = judge.points.astype(np.float32)
    centred = points - points.mean(axis=0)
    if judge.numeric:
        return np.linalg.qr(_principal(centred, coordinates).astype(np.float64))[0]
    codes, means = _class_means(judge)
    inside = points - means.astype(np.float32)[codes]
    covariance = inside.T @ inside / len(inside)
    covariance[np.diag_indices(width)] += _METRIC_SHRINKAGE * float(np.trace(covariance)) / width
    apart = means - means.mean(axis=0)
    telling = np.linalg.svd(np.linalg.solve(covariance, apart.T.astype(np.float32)), full_matrices=False)[0]
    telling = telling[:, : min(len(means) - 1, coordinates)]
    most = _principal(centred, coordinates)[:, : coordinates - telling.shape[1]]
    return np.linalg.qr(np.hstack([telling, most]).astype(np.float64))[0]


def _principal(centred: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The first principal directions by subspace iteration: near enough for coordinates, and a tenth of the time."""
    found = np.random.default_rng(0).standard_normal((centred.shape[1], count)).astype(np.float32)
    for _ in range(_POWERS):
        found = np.linalg.qr(centred.T @ (centred @ found))[0]
    return np.asarray(found @ np.linalg.svd(centred @ found, full_matrices=False)[2].T)


def _shapley(game: Game, settings: Cards, *, seed: int) -> Estimate:
    """All coalitions for few players, permutations for many."""
    if len(game) <= settings.exact_up_to:
        return exact_shapley(game)
    stop = StandardErrorBelow(_SMALL_ERROR, relative=True) | MaxPermutations(settings.permutations)
    return permutation_shapley(game, seed=seed, stop=stop, wave=_AT_A_TIME)


def _class_means(judge: Judge) -> tuple[Integers, Floats]:
    """Codes of the classes that the judge has, without gaps, and their means."""
    codes = np.unique(judge.labels, return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, judge.points.shape[1]))
    np.add.at(sums, codes, judge.points)
    return codes, sums / np.bincount(codes)[:, None]


def _covariance(judge: Judge) -> Floats:
    """The judge's covariance inside classes, or of everything where labels are numbers."""
    if judge.numeric:
        inside = judge.points - judge.points.mean(axis=0)
    else:
        codes, means = _class_means(judge)
        inside = judge.points - means[codes]
    return np.asarray(inside.T @ inside / len(inside))


def _played(part: ClassMoments, directions: Floats, within: Floats) -> ClassMoments:
    """A card along some directions; where its products cannot be used, rows scatter as the judge's do."""
    counts = np.maximum(part.counts, 0.0)
    sums = np.where(counts[:, None] > 0, part.sums @ directions, 0.0)
    if part.full and part.noise == EXACT:
        own = ClassMoments(counts, sums, directions.T @ part.second @ directions)
        if _is_covariance(own.within()):
            return own
    known = ClassMoments(counts, sums, np.zeros_like(within))
    return ClassMoments(counts, sums, known.rows * within - known.within())


def _is_covariance(matrix: Floats) -> bool:
    """Whether no direction has a negative variance, rounding apart: guards leave products out, and the rest may."""
    slack = _ROUNDING * max(float(np.diag(matrix).max()), np.finfo(float).tiny)
    return bool(dpotrf(matrix + slack * np.eye(len(matrix)))[1] == 0)


def _played_with_number(part: ClassMoments, directions: Floats, within: Floats) -> ClassMoments:
    """The same where the label is a number, the last coordinate.

    Without products a card says nothing about how the label depends on anything, and its client is worth nothing.
    """
    whole = np.zeros((directions.shape[0] + 1, directions.shape[1] + 1))
    whole[:-1, :-1], whole[-1, -1] = directions, 1.0
    sums = part.sums @ whole
    if not part.full:
        return ClassMoments(np.zeros(1), np.zeros_like(sums), np.zeros((whole.shape[1], whole.shape[1])))
    second = whole.T @ part.second @ whole
    if part.noise != EXACT:
        mean = sums[0, :-1] / max(part.rows, 1.0)
        second[:-1, :-1] = part.rows * (within + np.outer(mean, mean))
    return ClassMoments(part.counts, sums, second)


def _accuracy(parts: list[ClassMoments], judge: Judge) -> Utility:
    """The mean of two accuracies: of the linear discriminant, and of least squares on one-hot classes.

    Both need W⁻¹ of the class means only: with U_c = √p_c·(m_c − m), the least-squares slopes (W + UᵀU)⁻¹ √p_c·U_c are
    those of Woodbury's identity, √p_c times row c of (I + U W⁻¹ Uᵀ)⁻¹ U W⁻¹.
    """
    counts, sums, seconds = (np.stack([getattr(part, name) for part in parts]) for name in ("counts", "sums", "second"))
    players, classes, width = sums.shape
    order = np.argsort(judge.labels, kind="stable")
    edges = np.searchsorted(judge.labels[order], np.arange(classes + 1))
    # Single precision has more digits than an accuracy needs, at half the price.
    points = np.vstack([judge.points[order].T, np.ones(len(order))]).astype(np.float32)
    diagonal = np.arange(width)

    def batch(coalitions: Floats) -> Floats:
        number = coalitions @ counts
        total = np.tensordot(coalitions, sums, 1)
        second = (coalitions @ seconds.reshape(players, -1)).reshape(-1, width, width)
        rows, held = number.sum(axis=1)[:, None], number > 0
        share = number / rows
        grand = total.sum(axis=1) / rows
        scaled = total / np.sqrt(np.maximum(number, 1e-12))[..., None]
        second -= np.swapaxes(scaled, 1, 2) @ scaled
        level = second[:, diagonal, diagonal].mean(axis=1) / rows[:, 0]
        within = second * ((1.0 - _SHRINKAGE) / rows[..., None])
        within[:, diagonal, diagonal] += np.where(level > 0.0, _SHRINKAGE * level, 1.0)[:, None]
        apart = np.where(held[..., None], total / np.maximum(number, 1e-12)[..., None] - grand[:, None], 0.0)
        solved = _solved(within, np.concatenate([apart, grand[:, None]], axis=1))
        shrunk = (number / (number + _PSEUDO_ROWS))[..., None]
        means, slopes = grand[:, None] + shrunk * apart, _TEMPERATURE * (solved[:, -1:] + shrunk * solved[:, :-1])
        offsets = np.log(np.maximum(share, 1e-12)) - 0.5 * (slopes * means).sum(axis=2)
        discriminant = _correct(slopes, np.where(held, offsets, -1e9), points, edges)
        root = np.sqrt(share)[..., None]
        inner = np.eye(classes) + root * apart @ np.swapaxes(root * solved[:, :-1], 1, 2)
        slopes = root * np.linalg.solve(inner, root * solved[:, :-1])
        offsets = share - (slopes @ grand[..., None])[..., 0]
        return (discriminant + _correct(slopes, np.where(held, offsets, -1e9), points, edges)) / 2.0

    return _in_batches(batch, counts.sum(axis=1), empty=1.0 / classes)


def _solved(matrices: Floats, vectors: Floats) -> Floats:
    """A⁻¹v for every covariance (B, d, d) and the vectors (B, K, d) that go with it.

    One by one by Cholesky's decomposition, which takes two thirds of the time of `numpy.linalg.solve` for all at once.
    """
    found = np.empty_like(vectors)
    for place, (matrix, vector) in enumerate(zip(matrices, vectors, strict=True)):
        _, solution, failed = dposv(matrix, vector.T)
        found[place] = (np.linalg.solve(matrix, vector.T) if failed else solution).T
    return found


def _correct(slopes: Floats, offsets: Floats, points: NDArray[np.float32], edges: Integers) -> Floats:
    """Shares of the points, which are ordered by class and end with a one, whose own class scores highest."""
    count, classes, _ = slopes.shape
    lines = np.concatenate([slopes, offsets[..., None]], axis=2, dtype=np.float32, casting="same_kind")
    scores = (lines.reshape(count * classes, -1) @ points).reshape(count, classes, -1)
    best = scores.max(axis=1)
    right = np.zeros(count)
    for code in range(classes):
        own = slice(edges[code], edges[code + 1])
        right += (scores[:, code, own] >= best[:, own]).sum(axis=1)
    return np.asarray(right / points.shape[1])


def _explained(parts: list[ClassMoments], judge: Judge) -> Utility:
    """R² of the ridge regression on the judge's rows; saying their own mean has 0."""
    counts = np.array([part.rows for part in parts])
    sums = np.stack([part.sums.sum(axis=0) for part in parts])
    seconds = np.stack([part.second for part in parts])
    points, labels = judge.points, np.asarray(judge.labels, dtype=float)
    variance = max(float(points.var(axis=0).mean()), np.finfo(float).tiny)
    spread = max(float(((labels - labels.mean()) ** 2).sum()), np.finfo(float).tiny)
    diagonal = np.arange(points.shape[1])

    def batch(coalitions: Floats) -> Floats:
        rows = (coalitions @ counts)[:, None]
        grand = coalitions @ sums / rows
        about = np.tensordot(coalitions, seconds, 1) - rows[..., None] * grand[:, :, None] * grand[:, None]
        inside, across = about[:, :-1, :-1].copy(), about[:, None, :-1, -1]
        inside[:, diagonal, diagonal] += _RIDGE * variance
        slopes = _solved(inside, across)[:, 0]
        said = slopes @ points.T + (grand[:, -1] - (slopes * grand[:, :-1]).sum(axis=1))[:, None]
        return np.asarray(np.maximum(1.0 - ((labels - said) ** 2).sum(axis=1) / spread, _WORST))

    return _in_batches(batch, counts, empty=0.0)


def _in_batches(batch: Callable[[Floats], Floats], rows: Floats, *, empty: float) -> Utility:
    """A utility that computes some coalitions at a time, and is ``empty`` for those without any rows."""

    def parts(coalitions: Bools) -> Floats:
        found = np.full(len(coalitions), empty)
        some = np.flatnonzero(coalitions @ rows > 0)
        for first in range(0, len(some), _AT_A_TIME):
            chosen = some[first : first + _AT_A_TIME]
            found[chosen] = batch(coalitions[chosen].astype(float))
        return found

    return parts
