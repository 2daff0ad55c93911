"""The scalars a client computes against a sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbary.errors import PrivacyError
from fedbary.privacy.laplace import release
from fedbary.protocols.sketch.bounds import improved_lower_end
from fedbary.protocols.sketch.guard import capped_together, least_mass, nearest_shared, singled_out
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space import Points
from fedbary.transport import solve
from fedbary.transport.cost import cost_matrix

_FRANK_WOLFE_STEPS = 12
# Share of the cap by which a solver may miss the optimum, so that its value can still be made private.
_SMALL_GAP = 1e-9


@dataclass(frozen=True)
class Answer:
    """What a client says: d_S², a certified lower end of W², the mean relaxed capped cost, the sketch's error."""

    cost: float
    lower: float
    relaxed: float
    error: float
    noise: float = 0.0


def exact_answer(cloud: Points, sketch: SketchPoints, *, improved: bool) -> Answer:
    """The scalars without noise."""
    plan = solve(cloud.points, sketch.points, cloud.weights, sketch.weights)
    lower = max(0.0, plan.distance - sketch.error) ** 2
    if improved:
        lower = max(lower, improved_lower_end(cloud, sketch, plan, steps=_FRANK_WOLFE_STEPS))
    return Answer(plan.cost, lower, relaxed_cost(cloud, sketch), sketch.error)


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
        raise PrivacyError(
            "One row would make up more than half of the answer, or a few rows all of it, so the answer would show "
            "them: look for rows unlike all others, or set epsilon."
        )
    few = singled_out(relaxed, min_group) or singled_out(costs - cloud.weights * nearest, min_group)
    mean = min(plan.cost, sketch.cap) if few else float(relaxed.sum())
    return Answer(plan.cost, max(0.0, plan.distance - merged.error) ** 2, mean, merged.error)


def private_answer(cloud: Points, sketch: SketchPoints, epsilon: float) -> Answer:
    """ε-differentially private scalars for neighbours that differ in one row.

    Both the optimal capped cost and the mean relaxed capped cost move by at most C/m when one of m rows is
    replaced (the proof is in docs/sketch.md), so each gets discrete Laplace noise for ε/2; what the solver may miss
    is added to the C/m. The lower end follows from the noisy cost; it is the server's business. This holds for one
    answer: fresh noise for the same rows costs ε again.
    """
    sensitivity = sketch.cap * (1.0 / cloud.rows + _SMALL_GAP)
    capped = solve(cloud.points, sketch.points, cloud.weights, sketch.weights, cap=sketch.cap)
    if abs(capped.gap) > _SMALL_GAP * sketch.cap:
        raise PrivacyError("The solver did not converge tightly enough for a private answer: nothing was sent.")
    cost = release(capped.cost, sensitivity=sensitivity, epsilon=epsilon / 2.0)
    relaxed = release(relaxed_cost(cloud, sketch), sensitivity=sensitivity, epsilon=epsilon / 2.0)
    mean = float(np.clip(relaxed.value, 0.0, sketch.cap))
    return Answer(max(cost.value, 0.0), 0.0, mean, sketch.error, cost.scale)


def relaxed_cost(cloud: Points, sketch: SketchPoints) -> float:
    """Mean over rows of min(C, min_s c(z, z_s)): the semi-relaxed capped transport cost."""
    nearest = cost_matrix(cloud.points, sketch.points, 2).min(axis=1)
    return float(cloud.weights @ np.minimum(nearest, sketch.cap))
