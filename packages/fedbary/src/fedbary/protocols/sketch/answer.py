"""The scalars a client computes against a sketch: exact, guarded, or with ε.

An answer is a few sums over rows. A dishonest server chooses schema, points, masses, variances and cap so that a sum,
or the difference of two, depends on one row alone. Each guard here closes one such way, so that no fewer than
``min_group`` different rows can be read from a number: no proof, docs/sketch.md says what it leaves open. The
differentially private answer is a few integers, each with exact noise; its proof is there, too.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays
from fedbary.data.table import Table
from fedbary.errors import PrivacyError
from fedbary.privacy.noise import GRID, release, row_costs
from fedbary.protocols.sketch.numbers import PARTS, PublicJudge, RowCounts, count_rows
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.encode import row_points
from fedbary.space.points import Points, StoredPoints
from fedbary.space.schema import Schema
from fedbary.transport import Transport, solve
from fedbary.transport.cloud import Cloud, CloudInMemory, drawn, on_device
from fedbary.transport.semi_discrete import WORST_GAP, Targets, newton_step, survey
from fedbary.transport.simplex import integer_flow, whole_masses
from fedbary.transport.solve import cost_matrix

Floats = NDArray[np.float64]

# Share of a sum that may be rounding errors.
_ROUNDING = 1e-9
# A row is so many units of mass, so that masses of a sketch can be whole numbers of them.
_UNITS = 2**10
# More units than these in all, times the largest cost, would leave the integers that doubles hold.
_MOST_UNITS = 2**32

# How far each step goes towards the plan at hand (`benchmarks/lower_end.py`). Where the groups are small against the
# distance, the plan at hand hardly changes, and the first step goes all the way.
_STEPS, _SMALL_GROUPS = (0.3, 0.3), (1.0, 0.5)
# Plans are softened by this share of the groups' variance, and made by so many iterations.
_SOFTNESS, _ITERATIONS = 0.05, 8
# Points that the steps are made with: a sample, where there are more.
_POINTS = 5_000


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
    # By the triangle inequality (d − e)², with what d is at least.
    lower = max(0.0, float(np.sqrt(max(plan.dual_value, 0.0))) - sketch.error) ** 2
    if improved:
        lower = lower_end(cloud, sketch, plan)
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


def least_mass(weights: Floats, min_group: int) -> float:
    """Mass that at least ``min_group`` different rows must share, however often one of them was copied."""
    return min(float(np.sort(weights)[-min_group:].sum()), 1.0)


def nearest_shared(costs: Floats, min_group: int) -> Floats:
    """Cost of each row to its nearest point, among points that are nearest for at least ``min_group`` rows.

    A point that is nearest for fewer is taken away, the emptiest first, and its rows look for the next one: the
    result is that of a sketch without the point. (Merging it into a neighbour would tell, by the merged sketch's
    error, that some row lies near it.)
    """
    left = costs.copy()
    nearest = left.argmin(axis=1)
    counts = np.bincount(nearest, minlength=left.shape[1])
    for _ in range(left.shape[1] - 1):
        few = np.flatnonzero((counts > 0) & (counts < min_group))
        if not few.size:
            break
        point = few[np.argmin(counts[few])]
        rows = np.flatnonzero(nearest == point)
        left[:, point] = np.inf
        nearest[rows] = left[rows].argmin(axis=1)
        counts[point] = 0
        counts += np.bincount(nearest[rows], minlength=len(counts))
    return np.asarray(left[np.arange(len(left)), nearest])


def capped_together(values: Floats, weights: Floats, cap: float, min_group: int) -> Floats:
    """min(value, cap), where the cap sets apart either nobody or at least ``min_group`` rows on both of its sides.

    Where it is exceeded by fewer, the ``min_group`` largest values are capped together, if their mean exceeds it, or
    not at all. Where fewer stay below, all rows count as much as the cap.
    """
    capped = values > cap
    if 0 < capped.sum() < min_group:
        top = np.argsort(values, kind="stable")[-min_group:]
        capped[:] = False
        capped[top] = np.average(values[top], weights=weights[top]) > cap
    if 0 < (~capped).sum() < min_group:
        capped[:] = True
    return np.where(capped, cap, values)


def singled_out(parts: Floats, min_group: int) -> bool:
    """Whether a sum over rows is one of fewer than ``min_group`` rows, or of one row more than of all others."""
    sizes = np.abs(parts)
    total = float(sizes.sum())
    some = int((sizes > _ROUNDING * total).sum())
    alone = bool(sizes.max() > 0.5 * total * (1.0 + _ROUNDING))
    return min_group > 1 and (alone or 0 < some < min_group)


@dataclass(frozen=True)
class Sums:
    """What is released: integers that one row moves by at most ``GRID``, and by ``GRID`` times its units of mass.

    Attributes
    ----------
    nearest : int
        Σ_l min_s q_ls, q the rows' integer costs.
    transport : int
        The least Σ π_ls·q_ls over plans π in units of mass.
    counts : RowCounts or None
        How many rows are doubted and odd, and how many cells are missing, where the server asks for it.
    """

    nearest: int
    transport: int
    counts: RowCounts | None = None


@dataclass(frozen=True)
class PrivateAnswer:
    """Noisy scalars: those of every answer, and noisy shares of rows and cells where these were asked for."""

    costs: Answer
    shares: Mapping[str, float]


def private_answer(
    table: Table, schema: Schema, sketch: SketchPoints, epsilon: float, judge: PublicJudge | None = None
) -> PrivateAnswer:
    """ε-differentially private scalars for neighbours that differ in one row, all together.

    Once the table's columns are there, an answer always comes: should something fail inside, its owner's log says so,
    and the answer is that of a table whose rows are all as far away as can be. The lower end of the interval follows
    from the noisy cost; it is the server's business. This holds for one answer: fresh noise for the same rows costs ε
    again.
    """
    rows = len(table)
    try:
        found = released_sums(table, schema, sketch, judge)
    except Exception:
        logging.getLogger("fedbary.owner").exception("A private answer failed inside; the server got noise instead.")
        counts = None if judge is None else RowCounts(doubted=0, odd=rows, missing=0)
        found = Sums(nearest=GRID * rows, transport=GRID * rows * units_per_row(rows), counts=counts)
    return PrivateAnswer(noisy_costs(found, rows, sketch, epsilon), noisy_shares(found, rows, schema, epsilon))


def noisy_costs(found: Sums, rows: int, sketch: SketchPoints, epsilon: float) -> Answer:
    """The sums with noise, as costs per row; all after the noise is post-processing."""
    units = units_per_row(rows)
    parts = PARTS if found.counts is not None else {"transport": 1 / 2, "nearest": 1 / 2}
    transport = release(found.transport, sensitivity=GRID * units, epsilon=epsilon * parts["transport"])
    nearest = release(found.nearest, sensitivity=GRID, epsilon=epsilon * parts["nearest"])
    cost, noise = (sketch.cap * (number / (GRID * rows * units)) for number in (transport.value, transport.scale))
    relaxed = sketch.cap * (nearest.value / (GRID * rows))
    return Answer(_within(cost, sketch.cap), 0.0, _within(relaxed, sketch.cap), sketch.error, noise)


def noisy_shares(found: Sums, rows: int, schema: Schema, epsilon: float) -> dict[str, float]:
    """The counts with noise, as shares of rows and of cells."""
    if found.counts is None:
        return {}
    cells = schema.cells
    most = {"doubted": 1, "odd": 1, "missing": cells}
    shares = {}
    for name, sensitivity in most.items():
        noisy = release(getattr(found.counts, name), sensitivity=sensitivity, epsilon=epsilon * PARTS[name])
        shares[name] = _within(noisy.value / (rows * sensitivity), 1.0)
    return shares


def released_sums(table: Table, schema: Schema, sketch: SketchPoints, judge: PublicJudge | None = None) -> Sums:
    """The integers before the noise; equal rows stay apart, and every cost is a function of its own row."""
    points = row_points(table, schema)
    costs = row_costs(points, sketch.points, sketch.cap)
    units, nearest = units_per_row(len(table)), costs.min(axis=1)
    transport = integer_flow(costs, units, whole_masses(sketch.weights, len(table) * units))
    counts = None
    if judge is not None:
        width = schema.feature_width
        by_features = row_costs(points[:width], sketch.points[:, :width], sketch.cap).min(axis=1)
        counts = count_rows(table, schema, judge, nearest, by_features)
    return Sums(int(nearest.astype(np.int64).sum()), transport, counts)


def units_per_row(rows: int) -> int:
    """Units of mass of each row; of the public number of rows alone."""
    return max(1, min(_UNITS, _MOST_UNITS // rows))


def _within(number: float, cap: float) -> float:
    return min(max(number, 0.0), cap)


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
