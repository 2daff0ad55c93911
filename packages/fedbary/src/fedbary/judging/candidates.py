"""Candidates: log-probabilities of classes by others, others moved, a client's own rows, and a reference's model.

Each has the client's own class shares as prior, so that what clients differ in most, their class mix, decides nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from fedbary.judging.discriminant import Discriminant, Moved
from fedbary.judging.model import ReferenceModel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows of the others, moved, that a client's own class means are pooled with.
_KAPPA = 10.0
# Rows so many times as far away as usual, which is the number of coordinates, say less of their label.
_FAR = 4.0
# Rows are not moved where half of them lie so many times nearer without.
_PLAINLY = 0.8
# What few rows behind a class leave unknown of its mean, in rows.
_UNSURE = 3.0


class OwnRows:
    """What a client knows of its own rows before it judges them: sums over all of them, in standardised coordinates.

    ``rows`` are those of known classes, ``stated`` the class shares as the labels have them, ``shares`` the same with
    none of them zero.
    """

    def __init__(self, counts: Floats, sums: Floats, mean: Floats, variance: Floats) -> None:
        self.counts, self.sums, self.mean, self.variance = counts, sums, mean, variance
        self.rows = float(counts.sum())
        self.shares = (counts + 1.0) / (self.rows + len(counts))
        self.stated = counts / max(self.rows, 1.0)

    def moved_to(self, model: Discriminant | ReferenceModel) -> Moved:
        """To where a model expects a client with these class shares."""
        return Moved.of(self.mean, self.variance, self.stated, self.rows, means=model.means, variances=model.variances)


class Candidates:
    """What others, others moved and own rows say of a client's rows, some at a time."""

    def __init__(self, model: Discriminant, own: OwnRows, moved: Moved | None = None) -> None:
        self.model, self.own = model, own
        self.moved = moved or own.moved_to(model)
        self._prior = np.log(own.shares)
        self._means = model.means @ model.root
        self._factor = 1.0 + 1.0 / (model.counts + _UNSURE)
        # The others' means lie around the client's own mean, and are pooled with the client's rows.
        pulled = model.means - own.stated @ model.means + own.mean
        self._pooled = (own.sums + _KAPPA * pulled) @ model.root
        # The same where the others expect the client: rows are odd among their own, class by class.
        there = own.sums / self.moved.times + own.counts[:, None] * self.moved(np.zeros(len(own.mean)))
        self._pooled_moved = (there + _KAPPA * model.means) @ model.root
        self._weights = own.counts + _KAPPA
        self._own_factor = 1.0 + 1.0 / (own.counts + np.minimum(_KAPPA, model.counts) + _UNSURE)

    def __call__(self, rows: Floats, codes: Integers) -> tuple[list[Floats], Floats, Floats]:
        """Log-probabilities by the three candidates, distances, and how near rows are to the others as they are.

        Squared distances are those of moved rows from where they should lie: −2·log of the mixture of class Gaussians
        around pooled means, with the client's shares. Rows that lie far from all classes, as those of a column in
        another unit, say the less of their label the farther they lie.
        """
        white, moved = rows @ self.model.root, self.moved(rows) @ self.model.root
        found, near = [], []
        for points, means, factor in (
            (white, self._means, self._factor),
            (moved, self._means, self._factor),
            (white, None, self._own_factor),
        ):
            distances = (
                self._without_itself(points, codes, self._pooled) if means is None else _distances(points, means)
            )
            near.append(np.minimum(1.0, _FAR * points.shape[1] / np.maximum(distances.min(axis=1), 1e-12)))
            # A class of which few rows are known is wide.
            density = -0.5 * distances / factor - 0.5 * points.shape[1] * np.log(factor)
            found.append(log_softmax(near[-1][:, None] * density + self._prior, axis=1))
        away = self._without_itself(moved, codes, self._pooled_moved)
        least = away.min(axis=1)
        mixed = (np.exp(-0.5 * (away - least[:, None])) * self.own.shares).sum(axis=1)
        return found, np.asarray(least - 2.0 * np.log(np.maximum(mixed, 1e-300))), near[0]

    def unless_nearer_unmoved(self, rows: Floats) -> Candidates:
        """The same, for rows that are not moved where most lie plainly nearer to the others' classes as they are.

        Many broken rows moved their mean then.
        """
        as_they_are, moved = (
            float(np.median(_distances(points @ self.model.root, self._means).min(axis=1)))
            for points in (rows, self.moved(rows))
        )
        if as_they_are >= _PLAINLY * moved:
            return self
        nowhere, same = np.zeros(len(self.own.mean)), np.ones(len(self.own.mean))
        return Candidates(self.model, self.own, Moved(nowhere, same, nowhere, self.moved.offset))

    def deviations(self, rows: Floats) -> Floats:
        """Of moved rows from the nearest pooled class mean, in standardised coordinates."""
        moved = self.moved(rows)
        means = (self._pooled_moved / self._weights[:, None]) @ np.linalg.inv(self.model.root)
        nearest = _distances(moved @ self.model.root, means @ self.model.root).argmin(axis=1)
        return np.asarray(moved - means[nearest])

    def _without_itself(self, white: Floats, codes: Integers, pooled: Floats) -> Floats:
        """Squared distances to pooled class means, that of a row's own class without the row.

        There it is x − (A − x)/(c − 1) = (c·x − A)/(c − 1), with A the pooled sum and c its weight.
        """
        distances = _distances(white, pooled / self._weights[:, None])
        known = np.flatnonzero(codes >= 0)
        label, weight = codes[known], self._weights[codes[known]]
        away = weight[:, None] * white[known] - pooled[label]
        distances[known, label] = (away**2).sum(axis=1) / (weight - 1.0) ** 2
        return distances


def _distances(points: Floats, means: Floats) -> Floats:
    lengths = np.einsum("ij,ij->i", points, points)
    return np.asarray(np.maximum(lengths[:, None] - 2.0 * points @ means.T + (means**2).sum(axis=1), 0.0))


def with_classes(logs: Floats, known: Integers, by_others: Floats) -> Floats:
    """Log-probabilities of all classes, from unnormalised ones of the ``known`` and from others' of all."""
    own = log_softmax(logs, axis=1)
    if own.shape[1] == by_others.shape[1]:
        return np.asarray(own[:, np.argsort(known)])
    found = np.array(by_others, dtype=own.dtype)
    left = 1.0 - np.delete(np.exp(by_others), known, axis=1).sum(axis=1)
    found[:, known] = own + np.log(np.maximum(left, 1e-12))[:, None]
    return found
