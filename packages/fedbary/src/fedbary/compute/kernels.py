"""The few functions that take the time where there are many rows, each written once for NumPy and for a GPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbary.compute.arrays import NUMPY, Array, Arrays


def squared_distances(X: Array, Y: Array, xp: Arrays = NUMPY) -> Array:
    """All ‖x_i − y_j‖² by one matrix product; X and Y are centred first for precision."""
    centre = Y.mean(axis=0)
    Y = Y - centre
    return centred_distances(X - centre, Y, xp.einsum("ij,ij->i", Y, Y), xp)


def centred_distances(X: Array, Y: Array, squares: Array, xp: Arrays = NUMPY) -> Array:
    """All ‖x_i − y_j‖² of points around the origin, given ``squares`` = ‖y_j‖²."""
    squared = X @ Y.T
    squared *= -2.0
    squared += xp.einsum("ij,ij->i", X, X)[:, None]
    squared += squares[None, :]
    return xp.clip(squared, 0.0, None, out=squared)


class Nearest(NamedTuple):
    """For every point the target of the least value, that value, and the same of the second best.

    ``elsewhere`` is the least value in another group of targets than that of the best.
    """

    target: Array
    value: Array
    second_target: Array
    second_value: Array
    elsewhere: Array


def nearest(values: Array, groups: NDArray[np.int64], xp: Arrays = NUMPY) -> Nearest:
    """The two least values of each row, a column for each target; the first where several are equal.

    ``groups`` has the place of the first target of each group, of which all stand together. With one target the second
    best is that one again, at an infinite value. The values are overwritten.
    """
    value, target = xp.least(values)
    elsewhere = None
    if len(groups) > 1:
        by_group = xp.least_of_groups(values, groups)
        own_group = xp.asarray(np.searchsorted(groups, np.arange(values.shape[1]), side="right") - 1)[target]
        xp.put_along(by_group, own_group, float("inf"))
        elsewhere = xp.amin(by_group, 1)
    xp.put_along(values, target, float("inf"))
    second_value, second_target = xp.least(values)
    return Nearest(target, value, second_target, second_value, second_value if elsewhere is None else elsewhere)


class ClassSums(NamedTuple):
    """The mean (d,), rows of each class (K,), the sums of their points (K, d) and Σ z·zᵀ over all (d, d) about it."""

    centre: Array
    counts: Array
    sums: Array
    second: Array


def class_sums(points: Array, codes: Array, classes: int, xp: Arrays = NUMPY) -> ClassSums:
    """Moments of points whose classes are numbered from 0; about the mean, so that large numbers do not cancel."""
    width, centre = points.shape[1], points.mean(axis=0)
    counts, sums, second = (xp.filled(shape, 0.0) for shape in ((classes,), (classes, width), (width, width)))
    for start in range(0, len(points), xp.together):
        some = slice(start, start + xp.together)
        centred, members = points[some] - centre, xp.members(codes[some], classes)
        counts += members.sum(axis=1)
        # By a product: what is scattered to its class comes out differently from run to run on a GPU.
        sums += members @ centred
        second += centred.T @ centred
    return ClassSums(centre, counts, sums, second)
