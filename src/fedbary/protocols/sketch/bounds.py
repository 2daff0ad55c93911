"""Lower ends of the distance to a target that is known only by its sketch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space import Points
from fedbary.transport import Transport
from fedbary.transport.cost import cost_matrix
from fedbary.transport.simplex import Coupling, network_simplex

Floats = NDArray[np.float64]

_LEAST_STEPS, _SMALL_GAIN = 6, 0.01


def improved_lower_end(cloud: Points, sketch: SketchPoints, start: Transport, *, steps: int) -> float:
    """A certified lower bound of W²(P, Q) (DESIGN 2.4).

    W² ≥ min_π Σ_s w_s·[‖p̄_s − z_s‖² + (σ_s − e_s)²] by Cauchy–Schwarz in each group, p̄_s and σ_s² the mean and
    variance of what π sends to s. The objective equals ⟨π, c⟩ + e² − 2·Σ w_s·e_s·σ_s(π), which is convex;
    Frank–Wolfe gives in every step the certificate objective − gap, and the best one is returned; at least
    six steps are made, and none after one that gained less than a hundredth.
    """
    costs = cost_matrix(cloud.points, sketch.points, 2)
    lengths = (cloud.points**2).sum(axis=1)
    spread = np.sqrt(sketch.variances)
    plan = np.zeros(costs.shape)
    np.add.at(plan, (start.source, start.target), start.mass)
    best = -np.inf
    for step in range(steps):
        means = plan.T @ cloud.points / sketch.weights[:, None]
        variances = plan.T @ lengths / sketch.weights - (means**2).sum(axis=1)
        sigma = np.sqrt(np.maximum(variances, 1e-12 * (1.0 + variances.max())))
        objective = float((plan * costs).sum() + sketch.weights @ sketch.variances)
        objective -= 2.0 * float(sketch.weights @ (spread * sigma))
        slope = costs - (spread / sigma) * (lengths[:, None] - 2.0 * cloud.points @ means.T)
        towards = network_simplex(slope, cloud.weights, sketch.weights)
        before, best = best, max(best, objective + _inner(slope, towards) - float((slope * plan).sum()))
        if step + 1 >= _LEAST_STEPS and best - before < _SMALL_GAIN * abs(best):
            break
        weight = 2.0 / (step + 3.0)
        plan *= 1.0 - weight
        plan[towards.source, towards.target] += weight * towards.mass
    return best


def _inner(costs: Floats, coupling: Coupling) -> float:
    return float(coupling.mass @ costs[coupling.source, coupling.target])
