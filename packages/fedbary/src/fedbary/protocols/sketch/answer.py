"""The scalars a client computes against a sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import PrivacyError
from fedbary.protocols.sketch.guard import capped_together, least_mass, nearest_shared, singled_out
from fedbary.protocols.sketch.lower_end import lower_end
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.points import Points, StoredPoints
from fedbary.transport import Transport, solve
from fedbary.transport.cloud import Cloud
from fedbary.transport.semi_discrete import WORST_GAP
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]


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
    plan = solve(cloud, sketch.points, None, sketch.weights)
    lower = lower_end(cloud, sketch, plan) if improved else _triangle(plan, sketch)
    relaxed = relaxed_cost(cloud, sketch)
    return Answer(plan.cost, lower, relaxed, sketch.error, potentials=plan.source_potential)


def guarded_answer(cloud: Points, sketch: SketchPoints, *, min_group: int) -> Answer:
    """The scalars without noise, so that neither they nor their differences single out fewer than ``min_group`` rows.

    Sketch points are merged until each takes so many different rows, which keeps the interval valid; the relaxed
    cost is shared and capped by so many; and where fewer pay more than that, the relaxed cost repeats the cost.
    The lower end is the triangle inequality's, which the server could compute itself.
    """
    merged = coarsened(sketch, least_mass(cloud.weights, min_group))
    plan = solve(cloud, merged.points, None, merged.weights)
    paid = cost_matrix(cloud.points, merged.points, 2)[plan.source, plan.target]
    costs = np.zeros(cloud.distinct)
    np.add.at(costs, plan.source, plan.mass * paid)
    nearest = nearest_shared(cost_matrix(cloud.points, sketch.points, 2), min_group)
    relaxed = cloud.weights * capped_together(nearest, cloud.weights, sketch.cap, min_group)
    if singled_out(costs, min_group):
        raise PrivacyError("protocols.answer-shows-rows")
    few = singled_out(relaxed, min_group) or singled_out(costs - cloud.weights * nearest, min_group)
    mean = min(plan.cost, sketch.cap) if few else float(relaxed.sum())
    # By the cost alone, as the gap would tell something about the rows: certified by the widest gap that is let pass.
    least = plan.cost * (1.0 - WORST_GAP if plan.method == "semi-discrete" else 1.0)
    return Answer(plan.cost, max(0.0, float(np.sqrt(least)) - merged.error) ** 2, mean, merged.error)


def relaxed_cost(cloud: Cloud, sketch: SketchPoints) -> float:
    """Mean over rows of min(C, min_s c(z, z_s)): the semi-relaxed capped transport cost."""
    nearest = np.concatenate([cost_matrix(points, sketch.points, 2).min(axis=1) for points in cloud.chunks()])
    return float(cloud.weights @ np.minimum(nearest, sketch.cap))


def _triangle(plan: Transport, sketch: SketchPoints) -> float:
    """(d − e)², with what d is at least."""
    return max(0.0, float(np.sqrt(max(plan.dual_value, 0.0))) - sketch.error) ** 2
