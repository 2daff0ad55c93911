"""The network simplex on the few pairs that matter, and the proof that they were enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.simplex import MOST_PIVOTS, Coupling, network_simplex

Floats = NDArray[np.float64]

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


def pruned_simplex(costs: Floats, a: Floats, b: Floats, start: Floats) -> Coupling:
    """What `network_simplex` finds, sooner if ``start`` is near the target's potentials; all weights must be positive.

    Only pairs with small reduced costs take part. The potentials of that smaller problem prove its plan optimal for the
    whole one unless a reduced cost is negative; pairs that have one are let in, and it is solved again. Where that
    promises nothing or does not end soon, all pairs take part.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.transport.pruned import pruned_simplex
    >>> costs, half = np.array([[0.0, 5.0], [1.0, 2.0]]), np.array([0.5, 0.5])
    >>> pruned_simplex(costs, half, half, start=np.zeros(2)).target
    array([0, 1])
    """
    from ot.lp.emd_wrap import emd_c_sparse

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
        source, target, mass, _, f_more, g_more, code = emd_c_sparse(a, b, *at, flat[pairs], MOST_PIVOTS)
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


def _pairs_of_a_plan(a: Floats, b: Floats) -> NDArray[np.int64]:
    """Pairs that can carry all mass, whatever it costs: with them a smaller problem has a plan."""
    up_to_source, up_to_target = np.cumsum(a), np.cumsum(b)
    cuts = np.concatenate([[0.0], up_to_source[:-1], up_to_target[:-1]])
    source = np.minimum(np.searchsorted(up_to_source, cuts, side="right"), len(a) - 1)
    target = np.minimum(np.searchsorted(up_to_target, cuts, side="right"), len(b) - 1)
    return np.asarray(source * len(b) + target)
