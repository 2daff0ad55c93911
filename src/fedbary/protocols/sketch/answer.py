"""The scalars a client computes against a sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import PrivacyError
from fedbary.protocols.sketch.guard import capped_together, least_mass, nearest_shared, singled_out
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.points import Points
from fedbary.space.stored_points import StoredPoints
from fedbary.transport import Transport, solve
from fedbary.transport.cost import cost_matrix
from fedbary.transport.simplex import network_simplex

Floats = NDArray[np.float64]

_FRANK_WOLFE_STEPS, _LEAST_STEPS, _SMALL_GAIN = 12, 6, 0.01


@dataclass(frozen=True, eq=False)
class Answer:
    """What a client says: d_S², a certified lower end of W², the mean relaxed capped cost, the sketch's error.

    ``potentials`` of the client's points, where this very transport was solved, stay at home: row values need them.
    """

    cost: float
    lower: float
    relaxed: float
    error: float
    noise: float = 0.0
    potentials: Floats | None = None


def exact_answer(cloud: Points | StoredPoints, sketch: SketchPoints, *, improved: bool) -> Answer:
    """The scalars without noise."""
    if isinstance(cloud, StoredPoints):
        return _of_stored_points(cloud, sketch)
    plan = solve(cloud.points, sketch.points, cloud.weights, sketch.weights)
    lower = max(0.0, plan.distance - sketch.error) ** 2
    costs = cost_matrix(cloud.points, sketch.points, 2)
    if improved:
        lower = max(lower, improved_lower_end(cloud, sketch, costs, plan))
    relaxed = relaxed_cost(costs, cloud.weights, sketch.cap)
    return Answer(plan.cost, lower, relaxed, sketch.error, potentials=plan.source_potential)


def _of_stored_points(cloud: StoredPoints, sketch: SketchPoints) -> Answer:
    """The same in chunks; the lower end is the triangle inequality's, from the dual value."""
    plan = solve(cloud, sketch.points, b=sketch.weights)
    least = np.sqrt(max(plan.cost - plan.gap, 0.0))
    nearest = np.concatenate([cost_matrix(points, sketch.points, 2).min(axis=1) for points in cloud.chunks()])
    relaxed = float(cloud.weights @ np.minimum(nearest, sketch.cap))
    lower = max(0.0, float(least) - sketch.error) ** 2
    return Answer(plan.cost, lower, relaxed, sketch.error, potentials=plan.source_potential)


def guarded_answer(cloud: Points, sketch: SketchPoints, *, min_group: int) -> Answer:
    """The scalars without noise, so that neither they nor their differences single out fewer than ``min_group`` rows.

    Sketch points are merged until each takes so many different rows, which keeps the interval valid; the relaxed
    cost is shared and capped by so many; and where fewer pay more than that, the relaxed cost repeats the cost.
    The lower end is the triangle inequality's, which the server could compute itself.
    """
    merged = coarsened(sketch, least_mass(cloud.weights, min_group))
    plan = solve(cloud.points, merged.points, cloud.weights, merged.weights)
    paid = cost_matrix(cloud.points, merged.points, 2)[plan.source, plan.target]
    costs = np.zeros(cloud.distinct)
    np.add.at(costs, plan.source, plan.mass * paid)
    nearest = nearest_shared(cost_matrix(cloud.points, sketch.points, 2), min_group)
    relaxed = cloud.weights * capped_together(nearest, cloud.weights, sketch.cap, min_group)
    if singled_out(costs, min_group):
        raise PrivacyError("protocols.answer-shows-rows")
    few = singled_out(relaxed, min_group) or singled_out(costs - cloud.weights * nearest, min_group)
    mean = min(plan.cost, sketch.cap) if few else float(relaxed.sum())
    return Answer(plan.cost, max(0.0, plan.distance - merged.error) ** 2, mean, merged.error)


def relaxed_cost(costs: Floats, weights: Floats, cap: float) -> float:
    """Mean over rows of min(C, min_s c(z, z_s)): the semi-relaxed capped transport cost."""
    return float(weights @ np.minimum(costs.min(axis=1), cap))


def improved_lower_end(cloud: Points, sketch: SketchPoints, costs: Floats, start: Transport) -> float:
    """A certified lower bound of W²(P, Q) (DESIGN 2.4).

    W² ≥ min_π Σ_s w_s·[‖p̄_s − z_s‖² + (σ_s − e_s)²] by Cauchy–Schwarz in each group, p̄_s and σ_s² the mean and
    variance of what π sends to s. The objective equals ⟨π, c⟩ + e² − 2·Σ w_s·e_s·σ_s(π), which is convex;
    Frank–Wolfe gives in every step the certificate objective − gap, and the best one is returned; at least
    six steps are made, and none after one that gained less than a hundredth.
    """
    lengths = (cloud.points**2).sum(axis=1)
    spread = np.sqrt(sketch.variances)
    plan = np.zeros(costs.shape)
    np.add.at(plan, (start.source, start.target), start.mass)
    best = -np.inf
    for step in range(_FRANK_WOLFE_STEPS):
        means = plan.T @ cloud.points / sketch.weights[:, None]
        variances = plan.T @ lengths / sketch.weights - (means**2).sum(axis=1)
        sigma = np.sqrt(np.maximum(variances, 1e-12 * (1.0 + variances.max())))
        objective = float((plan * costs).sum() + sketch.weights @ sketch.variances)
        objective -= 2.0 * float(sketch.weights @ (spread * sigma))
        slope = costs - (spread / sigma) * (lengths[:, None] - 2.0 * cloud.points @ means.T)
        towards = network_simplex(slope, cloud.weights, sketch.weights)
        reached = float(towards.mass @ slope[towards.source, towards.target])
        before, best = best, max(best, objective + reached - float((slope * plan).sum()))
        if step + 1 >= _LEAST_STEPS and best - before < _SMALL_GAIN * abs(best):
            break
        weight = 2.0 / (step + 3.0)
        plan *= 1.0 - weight
        plan[towards.source, towards.target] += weight * towards.mass
    return best
