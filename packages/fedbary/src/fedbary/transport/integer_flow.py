"""The transportation problem in whole numbers: its optimum exactly, with a proof."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError

Floats = NDArray[np.float64]

# Rows whose costs are looked at together, as integers.
_ROWS_AT_ONCE = 1024
# Without a limit, as an unfinished transport would tell that there is something special about the rows.
_NO_LIMIT = 0


def integer_flow(costs: Floats, supply: int, demands: Sequence[int]) -> int:
    """The least Σ π_ls·c_ls over plans π in whole numbers, ``supply`` from each row and ``demands`` at the points.

    ``costs`` are whole, non-negative numbers in doubles. POT's network simplex only adds, subtracts and compares flows
    and potentials. These are integers below 2⁵³ here, so every step is exact; its pivot rule keeps the tree strongly
    feasible, so it ends; and its tolerance of 2·10⁻¹⁵ times a potential stays below one. What it found is proved in
    integers: a plan and potentials of equal value.
    """
    # POT imports every array library it finds, which costs seconds; the core needs none of them.
    os.environ.setdefault("POT_BACKEND_DISABLE_PYTORCH", "1")
    from ot.lp.emd_wrap import emd_c  # `ot.emd` scales the masses, which rounds them

    wanted = np.array(demands, dtype=np.int64)
    used = np.flatnonzero(wanted)
    rows = len(costs)
    chosen = costs if len(used) == len(wanted) else np.ascontiguousarray(costs[:, used])
    plan, _, _, potential, _ = emd_c(np.full(rows, float(supply)), wanted[used].astype(float), chosen, _NO_LIMIT, 1)
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


def _dual_value(costs: Floats, supply: int, demands: NDArray[np.int64], potential: NDArray[np.int64]) -> int:
    """supply·Σ_l min_s(c_ls − g_s) + Σ_s demand_s·g_s, which no plan can cost less than, whatever g is."""
    g = potential - potential[0]
    nearest = 0
    for start in range(0, len(costs), _ROWS_AT_ONCE):
        reduced = costs[start : start + _ROWS_AT_ONCE].astype(np.int64) - g
        nearest += int(reduced.min(axis=1).sum())
    return supply * nearest + sum(int(d) * int(v) for d, v in zip(demands, g, strict=True))
