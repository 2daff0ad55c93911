"""What a coalition of clients achieves, from their groups alone and for many coalitions at once (DESIGN 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.coalition.groups import Groups
from fedbary.protocols.coalition.judge import Judge
from fedbary.transport import solve
from fedbary.transport.cost import cost_matrix

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Utility = Callable[[Bools], Floats]

# Added to the ridge regression's matrix, in rows: what keeps a coalition of few rows from believing itself.
_RIDGE = 50.0
_ROUNDING = 1e-13
# Numbers that are held at a time for a batch of coalitions.
_AT_A_TIME = 2**22


def ridge_accuracy(clients: Sequence[Groups], judge: Judge, classes: int) -> Utility:
    """Accuracy of B = (Σ n_s·z̃z̃ᵀ + (V/d)·diag(I, 0) + 50·I)⁻¹ Σ n_s·z̃·e_yᵀ, z̃ = (z, 1), summed over the coalition.

    V/d gives back, evenly over the coordinates, the scatter that means have lost.
    """
    centre, scale = _metric(judge)
    rows = _with_one((judge.points - centre) / scale)
    width = rows.shape[1]
    products, answers = np.zeros((len(clients), width, width)), np.zeros((len(clients), width, classes))
    for place, groups in enumerate(clients):
        points = _with_one((groups.points - centre) / scale)
        weighted = points * groups.counts[:, None]
        products[place] = weighted.T @ points
        np.add.at(answers[place].T, groups.classes, weighted)
    scatter = np.array([groups.scatter for groups in clients]) / scale**2 / max(width - 1, 1)
    features = np.append(np.ones(width - 1), 0.0)

    def utility(coalitions: Bools) -> Floats:
        chosen = coalitions.astype(float)
        matrices = (chosen @ products.reshape(len(clients), -1)).reshape(-1, width, width)
        diagonal = np.arange(width)
        matrices[:, diagonal, diagonal] += (chosen @ scatter)[:, None] * features + _RIDGE
        # Where a client claims so many rows that 50 is nothing beside them, solving must still be possible.
        matrices[:, diagonal, diagonal] += _ROUNDING * np.trace(matrices, axis1=1, axis2=2)[:, None]
        targets = (chosen @ answers.reshape(len(clients), -1)).reshape(-1, width, classes)
        return _accuracy(rows @ np.linalg.solve(matrices, targets), judge)

    return _in_batches(utility, clients, max(width**2, len(rows) * classes), empty=1.0 / classes)


def soft_accuracy(clients: Sequence[Groups], judge: Judge, classes: int) -> Utility:
    """Accuracy of the largest log Σ_{s∈c} (n_s/n_c)·e^(−D_s/2) + log(n_c + 1), D_s squared distances from the means.

    A mixture of Gaussians with the coalition's own class prior; classes that it lacks are never answered.
    """
    centre, scale = _metric(judge)
    rows = (judge.points - centre) / scale
    logs = np.full((len(clients), len(rows), classes), -np.inf)
    counts = np.zeros((len(clients), classes))
    for place, groups in enumerate(clients):
        for code in np.unique(groups.classes):
            mine = groups.classes == code
            costs = cost_matrix(rows, (groups.points[mine] - centre) / scale, 2)
            logs[place, :, code] = np.logaddexp.reduce(np.log(groups.counts[mine]) - costs / 2.0, axis=1)
            counts[place, code] = groups.counts[mine].sum()
    top = logs.max(axis=(0, 2), initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    relative = logs - top[:, None]
    sums = np.exp(relative).reshape(len(clients), -1)

    def utility(coalitions: Bools) -> Floats:
        having = (coalitions.astype(float) @ counts)[:, None, :]
        together = (coalitions.astype(float) @ sums).reshape(len(coalitions), len(rows), classes)
        with np.errstate(divide="ignore"):
            scores = np.log(together)
        # Too far from all of the coalition's groups for a double: there the nearest client decides.
        for place in np.flatnonzero(((together == 0.0) & (having > 0)).any(axis=(1, 2))):
            nearest = relative[coalitions[place]].max(axis=0)
            scores[place] = np.where(together[place] == 0.0, nearest, scores[place])
        return _accuracy(scores + np.log((having + 1.0) / np.maximum(having, 1.0)), judge)

    return _in_batches(utility, clients, len(rows) * classes, empty=1.0 / classes)


def wasserstein_gain(clients: Sequence[Groups], labels: Floats, target: Floats, masses: Floats) -> Utility:
    """Squared distance of the target from its own centre, less W² between the target and the coalition's groups.

    ``labels`` are the classes' label coordinates, which stand beside the features in ``target``.
    """
    points = [np.hstack([groups.points, labels[groups.classes]]) for groups in clients]
    spread = float(masses @ ((target - masses @ target) ** 2).sum(axis=1))

    def gain(coalition: Bools) -> float:
        members = np.flatnonzero(coalition).tolist()
        counts = np.concatenate([clients[place].counts for place in members])
        joined = np.vstack([points[place] for place in members])
        return spread - solve(joined, target, counts / counts.sum(), masses).cost

    return _in_batches(lambda coalitions: np.array([gain(row) for row in coalitions]), clients, 1, empty=0.0)


def coverage(clients: Sequence[Groups], labels: Floats, target: Floats, masses: Floats, cap: float) -> Utility:
    """Part of the target that has a group of the coalition nearby: Σ_q w_q·max_s (1 − c(q, z_s)/C), at least 0."""
    near = np.zeros((len(clients), len(target)))
    for place, groups in enumerate(clients):
        if len(groups.points):
            costs = cost_matrix(target, np.hstack([groups.points, labels[groups.classes]]), 2).min(axis=1)
            near[place] = np.maximum(1.0 - costs / cap, 0.0)

    def utility(coalitions: Bools) -> Floats:
        return np.asarray(np.where(coalitions[:, :, None], near, 0.0).max(axis=1) @ masses)

    return _in_batches(utility, clients, near.size, empty=0.0)


def mean_of(first: Utility, second: Utility) -> Utility:
    """The mean of two utilities."""
    return lambda coalitions: (first(coalitions) + second(coalitions)) / 2.0


def _in_batches(utility: Utility, clients: Sequence[Groups], numbers: int, *, empty: float) -> Utility:
    """The same utility, a few coalitions at a time, and ``empty`` for those without any group."""
    most = max(1, _AT_A_TIME // max(numbers, 1))
    telling = np.array([len(groups.points) > 0 for groups in clients])

    def parts(coalitions: Bools) -> Floats:
        found = np.full(len(coalitions), empty)
        some = np.flatnonzero(coalitions[:, telling].any(axis=1))
        for first in range(0, len(some), most):
            batch = some[first : first + most]
            found[batch] = utility(coalitions[batch])
        return found

    return parts


def _accuracy(scores: Floats, judge: Judge) -> Floats:
    """Weighted share of rows whose own class has the largest of the scores (coalition, row, class)."""
    return np.asarray((scores.argmax(axis=2) == judge.codes) @ judge.weights)


def _metric(judge: Judge) -> tuple[Floats, float]:
    """Centre of the judge's rows, and the scale that gives their coordinates a mean variance of one."""
    centre = judge.weights @ judge.points
    variance = float(judge.weights @ ((judge.points - centre) ** 2).mean(axis=1))
    return centre, float(np.sqrt(variance)) or 1.0


def _with_one(points: Floats) -> Floats:
    return np.column_stack([points, np.ones(len(points))])
