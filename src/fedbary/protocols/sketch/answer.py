"""The scalars a client computes against a sketch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbary.errors import PrivacyError
from fedbary.privacy.laplace import release
from fedbary.protocols.sketch.bounds import improved_lower_end
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space import Points
from fedbary.transport import solve
from fedbary.transport.cost import cost_matrix

_FRANK_WOLFE_STEPS = 12


@dataclass(frozen=True)
class Answer:
    """What a client says: d_S², a certified lower end of W², and the mean relaxed capped cost."""

    cost: float
    lower: float
    relaxed: float
    noise: float = 0.0


def exact_answer(cloud: Points, sketch: SketchPoints, *, improved: bool) -> Answer:
    """The scalars without noise."""
    plan = solve(cloud.points, sketch.points, cloud.weights, sketch.weights)
    lower = max(0.0, plan.distance - sketch.error) ** 2
    if improved:
        lower = max(lower, improved_lower_end(cloud, sketch, plan, steps=_FRANK_WOLFE_STEPS))
    return Answer(plan.cost, lower, relaxed_cost(cloud, sketch))


def private_answer(cloud: Points, sketch: SketchPoints, epsilon: float) -> Answer:
    """ε-differentially private scalars for neighbours that differ in one row.

    Both the optimal capped cost and the mean relaxed capped cost move by at most C/m when one of m rows is
    replaced (docs/privacy.md), so each gets discrete Laplace noise for ε/2. The lower end follows from the
    noisy cost; it is the server's business.
    """
    sensitivity = sketch.cap / cloud.rows
    capped = solve(cloud.points, sketch.points, cloud.weights, sketch.weights, cap=sketch.cap)
    if abs(capped.gap) > 1e-9 * sketch.cap:
        raise PrivacyError("The solver did not converge tightly enough for a private answer: nothing was sent.")
    cost = release(capped.cost, sensitivity=sensitivity, epsilon=epsilon / 2.0)
    relaxed = release(relaxed_cost(cloud, sketch), sensitivity=sensitivity, epsilon=epsilon / 2.0)
    return Answer(max(cost.value, 0.0), 0.0, float(np.clip(relaxed.value, 0.0, sketch.cap)), cost.scale)


def relaxed_cost(cloud: Points, sketch: SketchPoints) -> float:
    """Mean over rows of min(C, min_s c(z, z_s)): the semi-relaxed capped transport cost."""
    nearest = cost_matrix(cloud.points, sketch.points, 2).min(axis=1)
    return float(cloud.weights @ np.minimum(nearest, sketch.cap))
