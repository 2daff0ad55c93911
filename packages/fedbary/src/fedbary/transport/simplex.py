"""The two exact solvers on a cost matrix: network simplex and assignment."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError

Floats = NDArray[np.float64]

MOST_PIVOTS = 50_000_000


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
    from ot.lp.emd_wrap import check_result, emd_c  # `ot.emd` looks for array libraries and checks all again

    # POT's tolerances are absolute: costs of unit size make them relative.
    unit = max(float(costs.max()), -float(costs.min())) or 1.0
    plan, _, f, g, code = emd_c(a, b * a.sum() / b.sum(), costs / unit, MOST_PIVOTS, 1)
    if (why := check_result(code)) is not None:
        raise TransportError("transport.simplex-unfinished", sources=len(a), targets=len(b), why=str(why))
    carrying = np.flatnonzero(plan.ravel() != 0)
    source, target = np.divmod(carrying, len(b))
    return Coupling(source, target, plan.ravel()[carrying], unit * f, unit * g)


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
    reached = np.empty_like(reduced)
    g = np.zeros(len(costs))
    still = 1e-13 * max(1.0, float(np.abs(costs).max()))
    for _ in range(len(costs) + 1):
        shorter = np.add(g[:, None], reduced, out=reached).min(axis=0)
        settled = np.abs(shorter - g).max() <= still
        g = np.minimum(g, shorter)
        if settled:
            break
    return np.diagonal(costs) - g, g
