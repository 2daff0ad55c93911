"""The lower end of a client's interval: a certified bound of W² from what the sketch says about its groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.transport import Transport
from fedbary.transport.cloud import Cloud, CloudInMemory, drawn, on_device
from fedbary.transport.semi_discrete import Targets, newton_step, survey

Floats = NDArray[np.float64]

# How far each step goes towards the plan at hand (`benchmarks/lower_end.py`). Where the groups are small against the
# distance, the plan at hand hardly changes, and the first step goes all the way.
_STEPS, _SMALL_GROUPS = (0.3, 0.3), (1.0, 0.5)
# Plans are softened by this share of the groups' variance, and made by so many iterations.
_SOFTNESS, _ITERATIONS = 0.05, 8
# Points that the steps are made with: a sample, where there are more.
_POINTS = 5_000


def lower_end(cloud: Cloud, sketch: SketchPoints, start: Transport) -> float:
    """A certified lower bound of W²(P, Q), at least the triangle inequality's, for less than another transport.

    With p̄_s and σ_s² the mean and variance of what a plan π sends to group s, W² is at least the minimum over π of
    ⟨π, c⟩ + e² − 2·Σ w_s·e_s·σ_s(π), by Cauchy–Schwarz in each group. As 2·σ_s ≤ σ̂_s + σ_s²/σ̂_s, and a variance is at
    most the mean squared distance from any point m̂_s,

    W² ≥ e² − Σ w_s·e_s·σ̂_s + Σ_i a_i·min_s(‖x_i − z_s‖² − θ_s·‖x_i − m̂_s‖² − g_s) + Σ w_s·g_s,  θ_s = e_s/σ̂_s,

    for any σ̂ > 0, m̂ and prices g. The bound is concave in all of them together. With m̂ = z and θ = e/d it is the
    triangle inequality's (d − e)². From there each step goes some of the way to the means and deviations of the plan
    at hand, where a softened transport (Sinkhorn's) gives the prices and the next plan: a soft plan is nearer to the
    mean of many optimal ones, and so to the best of the bounds. For a large cloud the steps are made with
    a sample of it, and the bound is computed for all its points.
    """
    least = float(np.sqrt(max(start.dual_value, 0.0)))
    best = max(0.0, least - sketch.error) ** 2
    if sketch.error == 0.0 or start.cost <= 0.0:
        return best
    sample = drawn(cloud, _POINTS)
    points = CloudInMemory(np.concatenate(list(cloud.chunks())), cloud.weights) if sample is None else sample
    bent = _Bent.at_triangle(sketch, start.distance)
    softness = _SOFTNESS * sketch.error**2
    g = start.target_potential * (1.0 - sketch.error / start.distance)
    plan, g = _soft_plan(bent.costs(points.points), points.weights, sketch.weights, g, softness)
    # Prices that need no transport: less what the plan at hand gains on average.
    whole = bent.towards(points, plan, 1.0)
    tried = [_Tried.of(whole, points, start.target_potential - whole.spread * whole.sigma, whole.costs(points.points))]
    for step in _SMALL_GROUPS if tried[0].reached > best else _STEPS:
        bent = bent.towards(points, plan, step)
        costs = bent.costs(points.points)
        plan, g = _soft_plan(costs, points.weights, sketch.weights, g, softness)
        tried.append(_Tried.of(bent, points, g, costs))
    chosen = max(tried, key=lambda one: one.reached)
    if not np.isfinite(chosen.reached):
        return best
    return max(best, chosen.reached if sample is None else _bound_for_all(cloud, chosen.bent, chosen.g))


def _soft_plan(costs: Floats, a: Floats, b: Floats, g: Floats, softness: float) -> tuple[Floats, Floats]:
    """A plan near the optimal one and its prices, from prices that are nearly right: a few of Sinkhorn's iterations."""
    reduced = costs - g
    reduced -= reduced.min(axis=1)[:, None]
    lowest = reduced.min(axis=0)  # every row and every column has a zero, so that no sum below vanishes
    reduced -= lowest
    reduced /= -softness
    kernel = np.exp(reduced, out=reduced)
    v = np.ones(len(b))
    for _ in range(_ITERATIONS):
        u = a / (kernel @ v)
        v = b / (u @ kernel)
    kernel *= u[:, None]
    kernel *= v
    return kernel, g + lowest + softness * np.log(v)


@dataclass(frozen=True, eq=False)
class _Bent(Targets):
    """Groups at which ‖x − z_s‖² − θ_s·‖x − m̂_s‖² is paid, θ_s = e_s/σ̂_s."""

    spread: Floats
    sigma: Floats
    centres: Floats

    @classmethod
    def at_triangle(cls, sketch: SketchPoints, distance: float) -> _Bent:
        """Where the bound is the triangle inequality's."""
        spread = np.sqrt(sketch.variances)
        sigma = np.maximum(spread, 1e-9 * sketch.error) * (distance / sketch.error)
        return cls(sketch.points, sketch.weights, np.zeros(1, dtype=np.int64), None, spread, sigma, sketch.points)

    def towards(self, cloud: CloudInMemory, plan: Floats, step: float) -> _Bent:
        """Some of the way to the means and deviations of a plan; deviations below the group's own gain nothing."""
        middle = self.points.mean(axis=0)
        own = cloud.points - middle
        lengths = np.einsum("ij,ij->i", own, own)
        means = (plan.T @ own) / self.weights[:, None]
        variances = (lengths @ plan) / self.weights - np.einsum("ij,ij->i", means, means)
        sigma = np.maximum(np.sqrt(np.maximum(variances, 0.0)), np.maximum(self.spread, 1e-9 * self.sigma))
        return _Bent(
            self.points,
            self.weights,
            self.first,
            None,
            self.spread,
            (1.0 - step) * self.sigma + step * sigma,
            (1.0 - step) * self.centres + step * (means + middle),
        )

    def costs(self, points: Array, dtype: type[np.floating] = np.float64, xp: Arrays = NUMPY) -> Array:
        theta = self.spread / self.sigma
        middle = self.points.mean(axis=0)
        own, groups, centres = points - xp.asarray(middle), self.points - middle, self.centres - middle
        costs = xp.asarray(own, dtype) @ xp.asarray(-2.0 * (groups - theta[:, None] * centres).T, dtype)
        costs += xp.asarray(xp.outer(xp.einsum("ij,ij->i", own, own), xp.asarray(1.0 - theta)), dtype)
        costs += xp.asarray((groups**2).sum(axis=1) - theta * (centres**2).sum(axis=1), dtype)
        return costs

    def bound(self, weights: Floats, nearest: Floats, g: Floats) -> float:
        """The bound, given min_s(cost − g_s) of every point."""
        constant = self.weights @ (self.spread**2 - self.spread * self.sigma)
        return float(constant + weights @ nearest + self.weights @ g)


@dataclass(frozen=True, eq=False)
class _Tried:
    """Groups and prices, and the bound that they prove."""

    reached: float
    bent: _Bent
    g: Floats

    @classmethod
    def of(cls, bent: _Bent, cloud: CloudInMemory, g: Floats, costs: Floats) -> _Tried:
        """What they prove; nothing where numbers left the finite ones."""
        reached = bent.bound(cloud.weights, (costs - g).min(axis=1), g)
        return cls(reached if np.isfinite(reached) else -np.inf, bent, g)


def _bound_for_all(cloud: Cloud, bent: _Bent, g: Floats) -> float:
    """The bound for a cloud, at prices that fit it better than those of a sample."""
    cloud = on_device(cloud, bent.points)
    found = survey(cloud, bent, g, np.float32)
    wanting = bent.weights - np.bincount(found.best, cloud.weights, minlength=len(g))
    g = g + newton_step(cloud.weights, bent, found, wanting)
    return bent.bound(cloud.weights, survey(cloud, bent, g, np.float64).value, g)
