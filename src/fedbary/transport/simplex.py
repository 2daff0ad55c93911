"""The two exact solvers on a cost matrix: network simplex and assignment."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError

Floats = NDArray[np.float64]

_MAX_ITERATIONS = 50_000_000


@dataclass(frozen=True, eq=False)
class Coupling:
    """Non-zero entries of an optimal plan and a pair of dual potentials."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    mass: Floats
    source_potential: Floats
    target_potential: Floats


def network_simplex(costs: Floats, a: Floats, b: Floats) -> Coupling:
    """POT's network simplex; all weights must be positive."""
    # POT imports every array library it finds, which costs seconds; the core needs none of them.
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    import ot

    # POT's tolerances are absolute: costs of unit size make them relative.
    unit = float(np.abs(costs).max()) or 1.0
    plan, log = ot.emd(a, b, costs / unit, numItermax=_MAX_ITERATIONS, log=True, center_dual=False)
    if log["warning"] is not None:
        raise TransportError("transport.simplex-unfinished", sources=len(a), targets=len(b), why=str(log["warning"]))
    source, target = np.nonzero(plan)
    return Coupling(source, target, plan[source, target], unit * np.asarray(log["u"]), unit * np.asarray(log["v"]))


def assignment(costs: Floats) -> Coupling:
    """SciPy's linear assignment for two uniform measures of one size, with its dual potentials."""
    from scipy.optimize import linear_sum_assignment

    size = len(costs)
    source, target = linear_sum_assignment(costs)
    f, g = _assignment_potentials(costs[:, target])
    column_potential = np.empty(size)
    column_potential[target] = g
    return Coupling(source, target, np.full(size, 1.0 / size), f, column_potential)


def _assignment_potentials(costs: Floats) -> tuple[Floats, Floats]:
    """Potentials of a problem whose optimal plan is the diagonal.

    g must satisfy g_j ≤ g_i + (c_ij − c_ii) for all i, j: shortest paths in a graph that has no negative
    cycle because the diagonal is optimal. Bellman–Ford finds them, a whole sweep at a time.
    """
    reduced = costs - np.diagonal(costs)[:, None]
    g = np.zeros(len(costs))
    for _ in range(len(costs) + 1):
        shorter = (g[:, None] + reduced).min(axis=0)
        settled = np.abs(shorter - g).max() <= 1e-13 * max(1.0, float(np.abs(costs).max()))
        g = np.minimum(g, shorter)
        if settled:
            break
    return np.diagonal(costs) - g, g
