"""The server's side of the fixed point: how many points, who counts what, and where the support moves.

Letters: i a client, c a class, W_ic the distance from the support's points of c to the client's rows of c, ω_ic the
client's share of class c among the classes that it shapes, W_i² = Σ_c ω_ic·W_ic² (DESIGN 2.5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A class has as many points as clients with most of its rows, and at least half of its clients, can shape.
_KEPT_ROWS, _KEPT_CLIENTS = 0.8, 0.5


@dataclass(frozen=True, eq=False)
class Answers:
    """What the clients said in one round: points (i, start, point, coordinate), costs (i, start, c), counts (i, c).

    ``counts`` are zero where a client withheld a class.
    """

    points: Floats
    costs: Floats
    counts: Floats

    @property
    def distances(self) -> Floats:
        """W_i for each client and start."""
        return client_distances(self.counts[:, None, :], self.costs)


def support_sizes(counts: Floats, *, min_group: int, most: int) -> Integers:
    """Support points for each class, from the clients' counts of different rows.

    The largest K at which the clients that may answer (``min_group``·K rows) hold 80 % of the class's rows and are
    half of the clients that have it, so that neither one rich nor one poor client decides.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.protocols.consensus.descent import support_sizes
    >>> support_sizes(np.array([[40.0, 0.0], [42.0, 9.0], [35.0, 200.0]]), min_group=5, most=10)
    array([ 7, 10])
    """
    sizes = np.zeros(counts.shape[1], dtype=np.int64)
    for code, rows in enumerate(counts.T):
        for size in range(1, most + 1):
            able = rows >= min_group * size
            if able.sum() < max(1.0, _KEPT_CLIENTS * (rows > 0).sum()) or rows[able].sum() < _KEPT_ROWS * rows.sum():
                break
            sizes[code] = size
    return sizes


def client_distances(counts: Floats, costs: Floats) -> Floats:
    """W_i = √(Σ_c ω_ic·W_ic²) along the last axis; zero for a client without any class."""
    total = np.maximum(counts.sum(axis=-1), 1.0)
    return np.asarray(np.sqrt((counts * costs).sum(axis=-1) / total))


def class_weights(kind: str, counts: Floats, distances: Floats, floor: float) -> Floats:
    """Weight of each client (rows) in each class (columns) before normalising over clients.

    ``robust`` is ω_ic / (W_i + δ): Weiszfeld's step for ΣW_i, δ = ``floor`` its smoothing.
    """
    if kind == "uniform":
        return np.asarray(counts > 0, dtype=float)
    if kind == "rows":
        return counts
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    return np.asarray(shares / (distances + floor)[..., None])


def objective(kind: str, answers: Answers, floor: float) -> Floats:
    """What each start's support costs, the function that `move` never lets rise while the same clients answer.

    Σ_c mean_i W_ic² and its row-weighted kin; for ``robust`` Σ_i W_i − δ·log(1 + W_i/δ), which is ΣW_i for small δ.
    """
    distances = answers.distances
    if kind == "robust":
        return np.asarray((distances - floor * np.log1p(distances / floor)).sum(axis=0))
    weights = class_weights(kind, answers.counts, distances, floor)[:, None, :]
    return np.asarray((weights * answers.costs / np.maximum(weights.sum(axis=0), 1e-300)).sum(axis=(0, 2)))


def move(kind: str, support: Floats, class_of: Integers, answers: Answers, floor: float) -> Floats:
    """Every support point goes to the weighted mean of the clients' answers; withheld by all, it stays."""
    moved = support.copy()
    for start, distances in enumerate(answers.distances.T):
        weights = class_weights(kind, answers.counts, distances, floor)[:, class_of]
        total = weights.sum(axis=0)
        shaped = total > 0
        share = weights[:, shaped] / total[shaped]
        moved[start, shaped] = np.einsum("is,isd->sd", share, answers.points[:, start, shaped])
    return moved
