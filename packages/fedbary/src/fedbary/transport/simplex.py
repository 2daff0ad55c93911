"""Exact solvers on a cost matrix: POT's network simplex, on all pairs, on few, or in whole numbers; and assignment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_PIVOTS = 50_000_000
# Pairs per target point that take part at first: those of least reduced cost.
_PAIRS = 12
# Potentials that would send so much of the mass to other points than it belongs to are not worth starting from.
_MOST_ASTRAY = 0.25
_MOST_TRIES = 6
# So many pairs per target point that turn out to be missing are too many to be let in one by one.
_MOST_MISSING = 4
# A pair is missing if its reduced cost is below minus this, relative to the largest cost.
_FEASIBLE = 1e-13
_OPTIMAL = 1
# Rows whose costs are looked at together, as integers.
_ROWS_AT_ONCE = 1024
# Without a limit, as an unfinished transport would tell that there is something special about the rows.
_NO_LIMIT = 0


@dataclass(frozen=True, eq=False)
class Coupling:
    """Non-zero entries of an optimal plan and a pair of dual potentials."""

    source: Integers
    target: Integers
    mass: Floats
    source_potential: Floats
    target_potential: Floats


def network_simplex(costs: Floats, a: Floats, b: Floats) -> Coupling:
    """POT's network simplex; all weights must be positive."""
    pot = _pot()
    # POT's tolerances are absolute: costs of unit size make them relative.
    unit = max(float(costs.max()), -float(costs.min())) or 1.0
    plan, _, f, g, code = pot.emd_c(a, b * a.sum() / b.sum(), costs / unit, _MOST_PIVOTS, 1)
    if (why := pot.check_result(code)) is not None:
        raise TransportError("transport.simplex-unfinished", sources=len(a), targets=len(b), why=str(why))
    carrying = np.flatnonzero(plan.ravel() != 0)
    source, target = np.divmod(carrying, len(b))
    return Coupling(source, target, plan.ravel()[carrying], unit * f, unit * g)


def pruned_simplex(costs: Floats, a: Floats, b: Floats, start: Floats) -> Coupling:
    """What `network_simplex` finds, sooner if ``start`` is near the target's potentials; all weights must be positive.

    Only pairs with small reduced costs take part. The potentials of that smaller problem prove its plan optimal for the
    whole one unless a reduced cost is negative; pairs that have one are let in, and it is solved again. Where that
    promises nothing or does not end soon, all pairs take part.
    """
    reduced = costs - start
    f = reduced.min(axis=1)
    reduced -= f[:, None]
    lowest = reduced.min(axis=0)
    reduced -= lowest
    g = start + lowest
    load = np.bincount(reduced.argmin(axis=0), b, len(a))
    if np.abs(load - a).sum() / 2.0 > _MOST_ASTRAY:
        return network_simplex(costs, a, b)
    flat = reduced.ravel()
    infeasible = -_FEASIBLE * float(np.abs(costs).max())
    b = b * a.sum() / b.sum()
    taking_part = flat <= _bound_of_least(flat, _PAIRS * len(b))
    taking_part[_pairs_of_a_plan(a, b)] = True
    for _ in range(_MOST_TRIES):
        pairs = np.flatnonzero(taking_part)
        at = np.divmod(pairs.astype(np.uint64), np.uint64(len(b)))
        source, target, mass, _, f_more, g_more, code = _pot().emd_c_sparse(a, b, *at, flat[pairs], _MOST_PIVOTS)
        if code != _OPTIMAL:
            break
        f, g = f + f_more, g + g_more
        reduced -= f_more[:, None]
        reduced -= g_more
        missing = flat < infeasible
        count = int(np.count_nonzero(missing))
        if count == 0:
            order = np.lexsort((target, source))
            return Coupling(source[order].astype(np.int64), target[order].astype(np.int64), mass[order], f, g)
        if count > _MOST_MISSING * len(b):
            break
        taking_part |= missing
    return network_simplex(costs, a, b)


def _bound_of_least(values: Floats, count: int) -> float:
    """What about ``count`` of the values do not exceed, judged by a few thousand of them."""
    every = len(values) // 4096 | 1
    some = values[::every]
    rank = min(count // every, len(some) - 1)
    return float(np.partition(some, rank)[rank])


def _pairs_of_a_plan(a: Floats, b: Floats) -> Integers:
    """Pairs that can carry all mass, whatever it costs: with them a smaller problem has a plan."""
    up_to_source, up_to_target = np.cumsum(a), np.cumsum(b)
    cuts = np.concatenate([[0.0], up_to_source[:-1], up_to_target[:-1]])
    source = np.minimum(np.searchsorted(up_to_source, cuts, side="right"), len(a) - 1)
    target = np.minimum(np.searchsorted(up_to_target, cuts, side="right"), len(b) - 1)
    return np.asarray(source * len(b) + target)


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


def integer_flow(costs: Floats, supply: int, demands: Sequence[int]) -> int:
    """The least Σ π_ls·c_ls over plans π in whole numbers, ``supply`` from each row and ``demands`` at the points.

    ``costs`` are whole, non-negative numbers in doubles. POT's network simplex only adds, subtracts and compares flows
    and potentials. These are integers below 2⁵³ here, so every step is exact; its pivot rule keeps the tree strongly
    feasible, so it ends; and its tolerance of 2·10⁻¹⁵ times a potential stays below one. What it found is proved in
    integers: a plan and potentials of equal value.
    """
    wanted = np.array(demands, dtype=np.int64)
    used = np.flatnonzero(wanted)
    rows = len(costs)
    chosen = costs if len(used) == len(wanted) else np.ascontiguousarray(costs[:, used])
    # Not `ot.emd`, which scales the masses and so rounds them.
    supplies, taken = np.full(rows, float(supply)), wanted[used].astype(float)
    plan, _, _, potential, _ = _pot().emd_c(supplies, taken, chosen, _NO_LIMIT, 1)
    source, target = np.nonzero(plan)
    mass = plan[source, target].astype(np.int64)
    sent, brought = np.zeros(rows, dtype=np.int64), np.zeros(len(used), dtype=np.int64)
    np.add.at(sent, source, mass)
    np.add.at(brought, target, mass)
    paid = sum(map(int, mass * chosen[source, target].astype(np.int64)))
    feasible = (mass > 0).all() and (sent == supply).all() and (brought == wanted[used]).all()
    if not feasible or paid != _dual_value(chosen, supply, wanted[used], potential.astype(np.int64)):
        raise TransportError("transport.flow-not-proved", sources=rows, targets=len(used))
    return paid


def whole_masses(weights: Floats, total: int) -> list[int]:
    """Weights as whole numbers that sum to ``total``: none is off by one or more."""
    shares = [Fraction(weight) for weight in weights.tolist()]
    unit = Fraction(total) / sum(shares)
    ends, reached = [0], Fraction(0)
    for share in shares:
        reached += share
        ends.append(round(reached * unit))
    return [after - before for before, after in pairwise(ends)]


def _dual_value(costs: Floats, supply: int, demands: Integers, potential: Integers) -> int:
    """supply·Σ_l min_s(c_ls − g_s) + Σ_s demand_s·g_s, which no plan can cost less than, whatever g is."""
    g = potential - potential[0]
    nearest = 0
    for start in range(0, len(costs), _ROWS_AT_ONCE):
        reduced = costs[start : start + _ROWS_AT_ONCE].astype(np.int64) - g
        nearest += int(reduced.min(axis=1).sum())
    return supply * nearest + sum(int(d) * int(v) for d, v in zip(demands, g, strict=True))


def _pot() -> Any:
    """POT's compiled solvers; `ot.emd` would look for array libraries and check all again."""
    # POT imports every array library it finds, which costs seconds; the core needs none of them.
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    from ot.lp import emd_wrap

    return emd_wrap
