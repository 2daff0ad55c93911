"""Free-support Wasserstein barycenters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError
from fedbary.transport.result import Transport, barycentric_projection
from fedbary.transport.solve import solve

Floats = NDArray[np.float64]
Measure = tuple[Floats, Floats | None]


@dataclass(frozen=True, eq=False)
class Barycenter:
    """Support of a barycenter, the objective Σ λ_i·W²(P_i, Q) before each step, and whether it settled."""

    points: Floats
    objective: tuple[float, ...]
    converged: bool


def barycenter_step(plans: Sequence[Transport], targets: Sequence[Floats], weights: Floats) -> Floats:
    """One fixed-point step: every support point moves to the weighted mean of where the plans send it."""
    return np.asarray(
        sum(
            weight * barycentric_projection(plan, target)
            for plan, target, weight in zip(plans, targets, weights, strict=True)
        )
    )


def free_support_barycenter(
    measures: Sequence[Measure],
    start: Floats,
    *,
    weights: Floats | None = None,
    max_steps: int = 100,
    tolerance: float = 1e-9,
) -> Barycenter:
    """Descend to a stationary point of Σ λ_i·W_2²(P_i, Q) over the support of a uniform Q.

    Parameters
    ----------
    measures : sequence of (points, weights or None)
        The measures P_i.
    start : (S, d) array
        First support. The problem is not convex: another start may end elsewhere.
    weights : array, optional
        λ_i, summing to one; equal if left out.
    max_steps, tolerance
        Stop after so many steps, or when the support moves by less than ``tolerance`` on average.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary_lab.transport.barycenter import free_support_barycenter
    >>> left, right = np.array([[-1.0], [0.0]]), np.array([[3.0], [4.0]])
    >>> free_support_barycenter([(left, None), (right, None)], np.array([[0.0], [1.0]])).points.ravel()
    array([1., 2.])
    """
    if not measures:
        raise TransportError("research.no-measure")
    shares = np.full(len(measures), 1.0 / len(measures)) if weights is None else np.asarray(weights, dtype=float)
    if shares.shape != (len(measures),) or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-9:
        raise TransportError("research.barycenter-weights", measures=len(measures))
    points = np.array(start, dtype=float)
    objective: list[float] = []
    for _ in range(max_steps):
        plans = [solve(points, target, None, mass) for target, mass in measures]
        objective.append(float(shares @ [plan.cost for plan in plans]))
        moved = barycenter_step(plans, [target for target, _ in measures], shares)
        shift = float(np.sqrt(((moved - points) ** 2).sum(axis=1)).mean())
        points = moved
        if shift <= tolerance:
            return Barycenter(points, tuple(objective), converged=True)
    return Barycenter(points, tuple(objective), converged=False)
