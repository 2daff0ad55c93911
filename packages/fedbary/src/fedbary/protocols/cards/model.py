"""From moments to the model that a client receives: a discriminant of the others' cards, in common coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.discriminant import Discriminant, standardising, steadied
from fedbary.protocols.cards.class_moments import EXACT, ClassMoments
from fedbary.protocols.cards.repair import repaired

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def discriminant(total: ClassMoments, centre: Floats, scale: Floats) -> Discriminant:
    """Of the rows behind moments; where noise was added, repaired by what is known of it."""
    if total.noise == EXACT:
        return Discriminant.of(total.counts, total.sums, total.second, centre, scale)
    counts, means, covariance = repaired(total)
    steady = steadied(covariance / np.outer(scale, scale), max(float(counts.sum()), 1.0))
    return Discriminant(centre, scale, counts, (means - centre) / scale, steady)


def common_coordinates(total: ClassMoments) -> tuple[Floats, Floats]:
    """Centre and scale of everybody's coordinates; noise may leave a variance that is none."""
    squares = np.diag(total.second) if total.full else total.second
    return standardising(max(total.rows, 1.0), total.sums.sum(axis=0), squares)


def restricted(moments: ClassMoments, known: Bools) -> ClassMoments:
    """The moments of some classes alone; the scatter inside the others is left out in proportion to their rows."""
    if known.all():
        return moments
    kept = ClassMoments(moments.counts[known], moments.sums[known], np.zeros_like(moments.second), moments.noise)
    within = moments.within() * (kept.rows / max(moments.rows, 1e-12))
    return ClassMoments(kept.counts, kept.sums, within - kept.within(), moments.noise)
