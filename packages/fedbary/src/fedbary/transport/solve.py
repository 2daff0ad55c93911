"""Optimal transport between two weighted point clouds: one function, one result with its evidence."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.compute.arrays import centred_distances, squared_distances
from fedbary.errors import TransportError, wrong_parameter
from fedbary.transport.cloud import Cloud, CloudInMemory
from fedbary.transport.result import Transport
from fedbary.transport.semi_discrete import semi_discrete
from fedbary.transport.simplex import Coupling, assignment, network_simplex, pruned_simplex

Floats = NDArray[np.float64]
Method = Literal["auto", "exact", "assignment", "semi-discrete"]

# Beyond this many points the network simplex measures faster than assignment with its potentials.
_ASSIGNMENT_UP_TO = 1000
# From this many sources on, if they are as many times more than the targets, the semi-discrete solver measures faster.
_MANY, _TIMES = 10_000, 20
# Duality gap, relative to the largest cost, above which a plan is not called optimal.
_GAP_TOLERANCE = 1e-6


def solve(
    X: Floats | Cloud,
    Y: Floats | Target,
    a: Floats | None = None,
    b: Floats | None = None,
    *,
    p: int = 2,
    method: Method = "auto",
    cap: float | None = None,
    start: Floats | None = None,
) -> Transport:
    """Solve the optimal transport problem min_π Σ π_ij ‖x_i − y_j‖^p, exactly or to a certified small gap.

    Parameters
    ----------
    X, Y : (m, d) and (n, d) arrays
        Points. X can also be a cloud: an object with ``weights`` and ``chunks()``, whose points are read a chunk at a
        time; Y a `Target`, where others are transported to the same points.
    a, b : arrays, optional
        Their weights, each summing to one; uniform if left out. Zero weights are allowed.
    p : 1 or 2
        Exponent of the Euclidean distance.
    method : {"auto", "exact", "assignment", "semi-discrete"}
        ``exact`` is POT's network simplex; ``assignment`` is SciPy's Hungarian-type solver, which needs
        equal sizes and uniform weights on both sides; ``semi-discrete`` is for very many points in X and few in Y,
        with p = 2. ``auto`` takes the one that measures fastest.
    cap : float, optional
        Most that any pair can cost: the costs are min(‖x − y‖^p, cap).
    start : array, optional
        Potentials of Y from a similar problem: ``exact`` is then faster where they are nearly right. Of plans that
        cost the same, and of potentials that prove the same, another may be found.

    Returns
    -------
    Transport

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.transport import solve
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> solve(X, X + [3.0, 4.0]).distance
    5.0
    """
    target = Y if isinstance(Y, Target) else Target(Y)
    Y = target.points
    if method not in ("auto", "exact", "assignment", "semi-discrete"):
        raise wrong_parameter("method", "solve", "'auto', 'exact', 'assignment' or 'semi-discrete'", method)
    if p not in (1, 2) or (method == "semi-discrete" and p != 2):
        raise wrong_parameter("p", "solve", "2" if method == "semi-discrete" else "1 or 2", p)
    b = _weights(b, len(Y), "b")
    if start is not None and start.shape != b.shape:
        raise wrong_parameter("start", "solve", f"one number for each of the {len(b)} points of Y", start.shape)
    if isinstance(X, Cloud):
        cloud = X
        a = _weights(cloud.weights, len(cloud.weights), "a")
    else:
        X = _finite_points(X, "X")
        if X.shape[1] != Y.shape[1]:
            raise TransportError("transport.coordinates-differ", of_x=X.shape[1], of_y=Y.shape[1])
        a = _weights(a, len(X), "a")
        cloud = CloudInMemory(X, a)
    many = p == 2 and len(a) >= max(_MANY, _TIMES * len(Y))
    if method == "semi-discrete" or (method == "auto" and many):
        return semi_discrete(cloud, Y, b, cap=cap)
    X = _finite_points(np.concatenate(list(cloud.chunks())), "X") if isinstance(X, Cloud) else X
    matching = len(X) == len(Y) and _uniform(a) and _uniform(b)
    if method == "assignment" and not matching:
        raise TransportError("transport.no-matching", sources=len(X), targets=len(Y))

    costs = target.costs(X, p)
    if cap is not None:
        np.minimum(costs, cap, out=costs)
    if method == "assignment" or (matching and method == "auto" and len(X) <= _ASSIGNMENT_UP_TO):
        name, coupling = "assignment", assignment(costs)
    else:
        name, coupling = "exact", _on_support(costs, a, b, start)
    # The matrix is computed fast; what is reported is summed again, exactly, over the plan's few entries.
    difference = X[coupling.source] - Y[coupling.target]
    squared = np.einsum("kd,kd->k", difference, difference)
    paid = squared if p == 2 else np.sqrt(squared)
    cost = float(coupling.mass @ (paid if cap is None else np.minimum(paid, cap)))
    shift = (float(a @ coupling.source_potential) - float(b @ coupling.target_potential)) / 2.0
    f, g = coupling.source_potential - shift, coupling.target_potential + shift
    gap = cost - float(a @ f + b @ g)
    scale = max(float(costs.max()), np.finfo(float).tiny)
    if abs(gap) > _GAP_TOLERANCE * scale:
        raise TransportError("transport.not-optimal", solver=name, gap=float(gap), sources=len(X), targets=len(Y))
    return Transport(cost, f, g, coupling.source, coupling.target, coupling.mass, a, b, gap=gap, p=p, method=name)


class Target:
    """Points that stay while others move: they are checked, centred and squared once for all transports to them.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.transport import Target, solve
    >>> rows = Target(np.array([[0.0], [1.0]]))
    >>> [solve(np.array([[x]]), rows).cost for x in (0.0, 0.5)]
    [0.5, 0.25]
    """

    def __init__(self, points: Floats) -> None:
        self.points = _finite_points(points, "Y")
        self._centre = self.points.mean(axis=0)
        self._centred = self.points - self._centre
        self._squares = np.einsum("ij,ij->i", self._centred, self._centred)

    def costs(self, X: Floats, p: int) -> Floats:
        """All pairwise costs ‖x_i − y_j‖^p."""
        squared: Floats = centred_distances(X - self._centre, self._centred, self._squares)
        return squared if p == 2 else np.sqrt(squared, out=squared)


def cost_matrix(X: Floats, Y: Floats, p: int) -> Floats:
    """All pairwise costs ‖x_i − y_j‖^p."""
    squared: Floats = squared_distances(X, Y)
    return squared if p == 2 else np.sqrt(squared, out=squared)


def _finite_points(values: Floats, name: str) -> Floats:
    """Rows of finite numbers, or an error that says what ``name`` is instead."""
    points = np.ascontiguousarray(values, dtype=np.float64)
    if points.ndim != 2 or len(points) == 0:
        raise TransportError("transport.not-points", name=name, shape=str(points.shape))
    if not np.isfinite(points).all():
        raise TransportError("transport.not-finite", name=name)
    return points


def _on_support(costs: Floats, a: Floats, b: Floats, start: Floats | None) -> Coupling:
    """Network simplex on the points that carry mass; the others get their potential by c-transform."""
    rows, cols = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    if len(rows) == len(a) and len(cols) == len(b):
        return network_simplex(costs, a, b) if start is None else pruned_simplex(costs, a, b, start)
    part = network_simplex(np.ascontiguousarray(costs[np.ix_(rows, cols)]), a[rows], b[cols])
    f = (costs[:, cols] - part.target_potential).min(axis=1)
    f[rows] = part.source_potential
    g = (costs - f[:, None]).min(axis=0)
    g[cols] = part.target_potential
    return Coupling(rows[part.source], cols[part.target], part.mass, f, g)


def _weights(values: Floats | None, size: int, name: str) -> Floats:
    if values is None:
        return np.full(size, 1.0 / size)
    weights = np.ascontiguousarray(values, dtype=np.float64)
    if weights.shape != (size,):
        raise TransportError("transport.weights-shape", name=name, shape=str(weights.shape), points=size)
    total = float(weights.sum())
    if not np.isfinite(total) or (weights < 0).any() or abs(total - 1.0) > 1e-9:
        raise TransportError("transport.weights-sum", name=name, total=total)
    return weights


def _uniform(weights: Floats) -> bool:
    return bool(weights.min() == weights.max())
