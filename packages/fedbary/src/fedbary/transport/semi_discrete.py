"""Transport of very many points to a few hundred: prices of the targets first, the plan from them, and its proof.

A `Survey` is one pass over the cloud: where each point would go at given prices, and how nearly elsewhere. `settle`
makes a plan of it: doubtful points are settled one by one, the sure ones in groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays
from fedbary.compute.arrays import nearest
from fedbary.compute.device import by_all_cores
from fedbary.errors import TransportError
from fedbary.transport.cloud import (
    Cloud,
    CloudInMemory,
    Floats,
    Integers,
    blocks,
    drawn,
    on_device,
    parts_of,
    points_of,
)
from fedbary.transport.result import Transport
from fedbary.transport.simplex import network_simplex

# Points of the exact problem that starts it, and of the sample that stays in memory, by its numbers and at most.
_START, _SAMPLE_NUMBERS, _MOST_SAMPLED = 5_000, 2**24, 2**17
# Share of points that may choose another target by float32; a margin of this share of the median is no preference.
_MOST_MISTAKEN, _NO_PREFERENCE = 0.01, 0.001
# Share of points that count as near a border, and ridge of the Newton steps.
_NEAR, _RIDGE = 0.2, 0.01
# Points that are settled exactly, and costs of the largest problem that is solved exactly where all else fails.
_LEAST_DOUBTFUL, _MOST_DOUBTFUL, _MOST_COSTS = 1_000, 32_000, 2**25
# Gap, relative to the cost, that is good; and the one that is the worst to be of use.
_GOOD_GAP, WORST_GAP = 1e-4, 1e-3
# Gap, relative to the largest cost, that is rounding.
_ROUNDING = 1e-12
# From so many points on one client's work is worth all cores: smaller ones are worked on side by side.
_BY_ALL_CORES = 65_536
# Ends of the shares of points, by how sure they are, that make groups of their own.
_LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7])


def semi_discrete(cloud: Cloud, Y: Floats, b: Floats, *, cap: float | None = None) -> Transport:
    """Transport a large cloud to a few points at the least Σ π_is·min(‖x_i − y_s‖², cap).

    The dual problem has one price g_s for each target. An exact solution for a few thousand points gives the first
    ones, Newton steps on a sample and on all points better ones; then points that are sure of their target stay
    there, and the doubtful ones are settled by the network simplex. At its prices the dual value
    Σ_i a_i·min_s(c_is − g_s) + Σ_s b_s·g_s is computed in float64, from which the gap is certified. Where it is wide,
    more points are settled, at worst all.
    """
    used, size = np.flatnonzero(b > 0), len(cloud.weights)
    doubtful = int(np.clip(size // 10, _LEAST_DOUBTFUL, _MOST_DOUBTFUL // 4))
    sample = drawn(cloud, int(np.clip(_SAMPLE_NUMBERS // Y.shape[1], _START, _MOST_SAMPLED)))
    start = drawn(cloud if sample is None else sample, _START) or cloud
    targets, g, order = _first_prices(start, Y[used], b[used], cap)
    dtype, cloud = _precision(start, targets, g), on_device(cloud, targets.points)
    if sample is not None:
        g = _newton(sample, targets, g, dtype, steps=2)
        g = settle(sample, targets, g, survey(sample, targets, g, dtype), doubtful)[1]
    g = _newton(cloud, targets, g, dtype, steps=2 if sample is None else 1)
    g = settle(cloud, targets, g, survey(cloud, targets, g, dtype), doubtful)[1]
    cost, dual = np.inf, -np.inf
    for settled in _rounds(doubtful, size, len(used)):
        found = survey(cloud, targets, g, np.float64)
        value = float(cloud.weights @ found.value + targets.weights @ g)
        if value > dual:
            dual, f, prices = value, found.value, g
        tried, g = settle(cloud, targets, g, found, settled)
        paid = _paid(cloud, targets, tried)
        if paid < cost:
            cost, plan = paid, tried
        gap, rounding = max(cost - dual, 0.0), _ROUNDING * float(np.abs(f).max())
        if gap <= (_GOOD_GAP if settled < _MOST_DOUBTFUL else WORST_GAP) * cost + rounding:
            break
    if gap > WORST_GAP * cost + rounding:
        raise TransportError("transport.not-optimal", solver="semi-discrete", gap=gap, sources=size, targets=len(b))
    shift = (float(cloud.weights @ f) - float(targets.weights @ prices)) / 2.0
    all_prices = np.empty(len(b))
    all_prices[used[order]] = prices
    if len(used) < len(b):
        # Nothing goes to the others: the highest prices that leave the potentials feasible.
        unused = np.flatnonzero(b <= 0)
        others = Targets(Y[unused], np.zeros(len(unused)), np.zeros(1, dtype=np.int64), cap)
        all_prices[unused] = np.inf
        for place, points in blocks(cloud):
            reached = (others.costs(points) - f[place, None]).min(axis=0)
            all_prices[unused] = np.minimum(all_prices[unused], reached)
    f, all_prices, target = f - shift, all_prices + shift, used[order][plan.target]
    weights, method = cloud.weights, "semi-discrete"
    return Transport(cost, f, all_prices, plan.source, target, plan.mass, weights, b, gap=gap, p=2, method=method)


def _rounds(doubtful: int, size: int, targets: int) -> Iterator[int]:
    """How many points are settled exactly, in one round after the other: at last all, if the costs have room."""
    yield from (2 * doubtful, 4 * doubtful, _MOST_DOUBTFUL)
    if size * targets <= _MOST_COSTS:
        yield size
        yield size


def _first_prices(start: Cloud, Y: Floats, b: Floats, cap: float | None) -> tuple[Targets, Floats, Integers]:
    """The targets in an order of their regions, their prices for some points, and that order."""
    from scipy.sparse.csgraph import connected_components

    targets = Targets(Y, b, np.zeros(1, dtype=np.int64), cap)
    carried = np.flatnonzero(start.weights > 0)
    weights = start.weights[carried] / start.weights[carried].sum()
    points = CloudInMemory(points_of(start, carried), weights)
    g = network_simplex(targets.costs(points.points), weights, b).target_potential
    g = g - b @ g
    # Targets that points choose between, if narrowly, are in one region.
    found = survey(points, targets, g, np.float64)
    undecided, links = found.margin <= np.median(found.margin), np.zeros((len(b), len(b)))
    np.add.at(links, (found.best[undecided], found.second[undecided]), 1.0)
    region = connected_components(links + links.T > 1, directed=False)[1].astype(np.int64)
    order = np.argsort(region, kind="stable")
    first = np.searchsorted(region[order], np.arange(region.max() + 1))
    return Targets(Y[order], b[order], first, cap), g[order], order


def _precision(start: Cloud, targets: Targets, g: Floats) -> type[np.floating]:
    """float32 where nearly all points that have a preference keep it."""
    rough, fine = (survey(start, targets, g, dtype) for dtype in (np.float32, np.float64))
    clear = fine.margin > _NO_PREFERENCE * np.median(fine.margin)
    return np.float32 if np.mean(clear & (rough.best != fine.best)) <= _MOST_MISTAKEN else np.float64


def _newton(cloud: Cloud, targets: Targets, g: Floats, dtype: type[np.floating], steps: int) -> Floats:
    """Prices at which the targets of each region get more nearly what they want.

    A little more for s lets those points change to it that are nearly indifferent: the second derivative of the dual
    is the Laplacian of a graph whose edge (s, t) is the density, at a margin of zero, of points between s and t.
    """
    before, missed = g, np.inf
    for _ in range(steps):
        found = survey(cloud, targets, g, dtype)
        wanting = targets.weights - np.bincount(found.best, cloud.weights, minlength=len(g))
        if np.abs(wanting).sum() >= missed:
            return before
        before, missed = g, float(np.abs(wanting).sum())
        g = g + newton_step(cloud.weights, targets, found, wanting)
    return g


def newton_step(weights: Floats, targets: Targets, found: Survey, wanting: Floats) -> Floats:
    """What to add to the prices so that targets get more nearly what they are ``wanting``, within their regions."""
    size = len(wanting)
    width = float(np.quantile(found.margin, _NEAR))
    if width <= _NO_PREFERENCE * float(np.median(found.margin)):
        return np.zeros(size)
    near = weights / (2.0 * width) / (1.0 + (found.margin / width) ** 2)
    links = np.bincount(found.best * size + found.second, near, minlength=size * size).reshape(size, size)
    links = links + links.T
    # What a region lacks as a whole can only come from far away: that is left to the settlement.
    region = targets.region
    total, lacking = (np.bincount(region, values) for values in (targets.weights, wanting))
    within = wanting - targets.weights * (lacking / total)[region]
    ridge = _RIDGE * targets.weights / width
    step = np.linalg.solve(np.diag(links.sum(axis=1) + ridge) - links, within)
    return np.asarray(step)


@dataclass(frozen=True, eq=False)
class Targets:
    """The small side of a problem: points with weights, in regions between which points seldom have to choose.

    Targets of a region stand together; ``first`` has the place of the first one of each.
    """

    points: Floats
    weights: Floats
    first: Integers
    cap: float | None

    @property
    def region(self) -> Integers:
        """The region of each target."""
        return np.repeat(np.arange(len(self.first)), np.diff(np.append(self.first, len(self.weights))))

    def costs(self, points: Array, dtype: type[np.floating] = np.float64, xp: Arrays = NUMPY) -> Array:
        """min(‖x − y‖², cap), a row for each point, with the product of the centred points in ``dtype``."""
        centre = self.points.mean(axis=0)
        own, theirs = (xp.asarray(one, dtype) for one in (points - xp.asarray(centre), self.points - centre))
        costs = own @ (-2.0 * theirs.T)
        costs += xp.einsum("ij,ij->i", theirs, theirs)
        costs += xp.einsum("ij,ij->i", own, own)[:, None]
        return xp.clip(costs, 0.0, self.cap, out=costs)


@dataclass(frozen=True, eq=False)
class Survey:
    """For each point: its best target at the prices, the second best, and what the second best costs more.

    ``value`` is min_s(c_is − g_s); ``outside`` what the best target of another region costs more.
    """

    best: Integers
    second: Integers
    margin: Floats
    outside: Floats
    value: Floats


def survey(cloud: Cloud, targets: Targets, g: Floats, dtype: type[np.floating]) -> Survey:
    """Ask every point of a cloud, with products in ``dtype``."""
    size = len(cloud.weights)
    best, second = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    margin, outside, value = (np.empty(size) for _ in range(3))
    xp, parts = parts_of(cloud)

    def ask(part: tuple[slice, Array]) -> None:
        rows, points = part
        # Values beyond float32 are settled in float64.
        with np.errstate(over="ignore", invalid="ignore"):
            reduced = targets.costs(points, dtype, xp)
            reduced -= xp.asarray(g, dtype)
            found = nearest(reduced, targets.first, xp)
            best[rows], second[rows] = xp.numpy(found.target), xp.numpy(found.second_target)
            value[rows] = xp.numpy(found.value)
            margin[rows] = xp.numpy(found.second_value - found.value)
            outside[rows] = xp.numpy(found.elsewhere - found.value)

    if xp is NUMPY and size > _BY_ALL_CORES:
        by_all_cores(ask, parts)
    else:
        for part in parts:
            ask(part)
    # One target leaves no choice, and neither do values beyond float32.
    np.copyto(margin, 0.0, where=~np.isfinite(margin))
    if len(targets.first) == 1:
        outside = margin
    return Survey(best, second, margin, outside, value)


@dataclass(frozen=True, eq=False)
class Plan:
    """Entries of a plan, by source."""

    source: Integers
    target: Integers
    mass: Floats


def settle(cloud: Cloud, targets: Targets, g: Floats, found: Survey, doubtful: int) -> tuple[Plan, Floats]:
    """A plan with exactly the wanted marginals, and the prices that go with it.

    The ``doubtful`` points, those with the least reason to be where they are, stand for themselves. Of the others, all
    that have the same target and are about as sure of it are one group, for which one of them stands. The network
    simplex finds the optimal plan of these, and the points of a group share its targets. Where every group stays with
    its target, no point can be better placed.
    """
    weights = cloud.weights
    doubted = _least(found.margin, doubtful)
    if len(targets.first) > 1:
        doubted |= _least(found.outside, doubtful // 2)
    doubted &= weights > 0
    single, sure = np.flatnonzero(doubted), np.flatnonzero(~doubted & (weights > 0))
    members, begins = _groups(found, sure, several=len(targets.first) > 1)
    sizes = np.diff(np.append(begins, len(members)))
    stand_in = np.concatenate([single, members[begins + sizes // 2]])
    masses = np.concatenate([weights[single], np.add.reduceat(weights[members], begins) if len(begins) else []])

    order = np.argsort(stand_in)
    costs = np.empty((len(stand_in), len(g)))
    costs[order] = targets.costs(points_of(cloud, stand_in[order]))
    # Near the prices the costs differ by little, which the simplex then sees more precisely.
    costs -= g
    costs -= costs.min(axis=1)[:, None]
    settled = network_simplex(costs, masses / masses.sum(), targets.weights)

    mass = settled.mass * masses.sum()
    alone = settled.source < len(single)
    number = settled.source[~alone] - len(single)
    shared = _shared(members, np.repeat(np.arange(len(sizes)), sizes), weights[members], number, mass[~alone])
    source = np.concatenate([single[settled.source[alone]], shared.source])
    target = np.concatenate([settled.target[alone], settled.target[~alone][shared.target]])
    mass = np.concatenate([mass[alone], shared.mass])
    order = np.argsort(source, kind="stable")
    return Plan(source[order], target[order], mass[order]), g + settled.target_potential


def _least(values: Floats, count: int) -> NDArray[np.bool_]:
    """Where the ``count`` least values are."""
    if count >= len(values):
        return np.ones(len(values), dtype=bool)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argpartition(values, count)[:count]] = True
    return chosen


def _groups(found: Survey, rows: Integers, *, several: bool) -> tuple[Integers, Integers]:
    """The rows group by group, and where each group begins."""
    key = found.best[rows]
    for surety in (found.margin, found.outside)[: 1 + several]:
        ends = np.quantile(surety[rows], _LEVELS) if len(rows) else _LEVELS
        key = key * (len(_LEVELS) + 1) + np.searchsorted(ends, surety[rows])
    order = np.argsort(key, kind="stable")
    key = key[order]
    return rows[order], np.flatnonzero(np.diff(key, prepend=-1))


def _shared(rows: Integers, group: Integers, weights: Floats, entry_group: Integers, mass: Floats) -> Plan:
    """Which entry of its group each row goes to: the rows of a group fill its entries one after the other."""
    once = np.bincount(entry_group, minlength=1)[group] == 1
    entry_of_group = np.zeros(len(once) and group[-1] + 1, dtype=np.int64)
    entry_of_group[entry_group] = np.arange(len(entry_group))
    whole = Plan(rows[once], entry_of_group[group[once]], weights[once])
    if once.all():
        return whole
    # On one line, the rows' pieces and the entries' pieces are cut at each other's ends.
    rows, weights = rows[~once], weights[~once]
    entries = np.flatnonzero(np.bincount(entry_group)[entry_group] > 1)
    entries = entries[np.argsort(entry_group[entries], kind="stable")]
    row_ends, entry_ends = np.cumsum(weights), np.cumsum(mass[entries])
    entry_ends = np.minimum(entry_ends * (row_ends[-1] / entry_ends[-1]), row_ends[-1])
    # The last end is shared to the last bit, so that no middle lies behind it.
    entry_ends[-1] = row_ends[-1]
    ends = np.union1d(row_ends, entry_ends)
    pieces = np.diff(ends, prepend=0.0)
    middle = ends - pieces / 2
    whose, where = rows[np.searchsorted(row_ends, middle)], entries[np.searchsorted(entry_ends, middle)]
    return Plan(
        np.concatenate([whole.source, whose]),
        np.concatenate([whole.target, where]),
        np.concatenate([whole.mass, pieces]),
    )


def _paid(cloud: Cloud, targets: Targets, plan: Plan) -> float:
    """What a plan costs, summed over its entries by differences of the points."""
    cost = 0.0
    xp, parts = parts_of(cloud)
    brought_to = xp.asarray(targets.points)
    for place, points in parts:
        part = slice(*np.searchsorted(plan.source, (place.start, place.stop)))
        sent, brought = xp.asarray(plan.source[part] - place.start), xp.asarray(plan.target[part])
        difference = points[sent] - brought_to[brought]
        squared = xp.einsum("kd,kd->k", difference, difference)
        capped = squared if targets.cap is None else xp.clip(squared, None, targets.cap)
        cost += float(xp.asarray(plan.mass[part]) @ capped)
    return cost
