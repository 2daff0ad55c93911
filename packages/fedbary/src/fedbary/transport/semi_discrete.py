"""Transport of very many points to a few hundred: prices of the targets first, the plan from them, and its proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import TransportError
from fedbary.transport.cloud import Cloud, CloudInMemory, drawn, points_of
from fedbary.transport.held_cloud import held
from fedbary.transport.result import Transport
from fedbary.transport.settlement import Plan, settle
from fedbary.transport.simplex import network_simplex
from fedbary.transport.survey import Survey, Targets, blocks, parts_of, survey

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

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
    sample = drawn(cloud, _sample_size(Y.shape[1]))
    start = drawn(cloud if sample is None else sample, _START) or cloud
    targets, g, order = _first_prices(start, Y[used], b[used], cap)
    dtype, cloud = _precision(start, targets, g), held(cloud, targets.points)
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
        unused = np.flatnonzero(b <= 0)
        all_prices[unused] = _prices_of_unused(cloud, Y[unused], cap, f)
    return Transport(
        cost,
        f - shift,
        all_prices + shift,
        plan.source,
        used[order][plan.target],
        plan.mass,
        cloud.weights,
        b,
        gap=gap,
        p=2,
        method="semi-discrete",
    )


def _rounds(doubtful: int, size: int, targets: int) -> Iterator[int]:
    """How many points are settled exactly, in one round after the other: at last all, if the costs have room."""
    yield from (2 * doubtful, 4 * doubtful, _MOST_DOUBTFUL)
    if size * targets <= _MOST_COSTS:
        yield size
        yield size


def _sample_size(width: int) -> int:
    return int(np.clip(_SAMPLE_NUMBERS // width, _START, _MOST_SAMPLED))


def _first_prices(start: Cloud, Y: Floats, b: Floats, cap: float | None) -> tuple[Targets, Floats, Integers]:
    """The targets in an order of their regions, their prices for some points, and that order."""
    targets = Targets(Y, b, np.zeros(1, dtype=np.int64), cap)
    carried = np.flatnonzero(start.weights > 0)
    weights = start.weights[carried] / start.weights[carried].sum()
    points = CloudInMemory(points_of(start, carried), weights)
    g = network_simplex(targets.costs(points.points), weights, b).target_potential
    g = g - b @ g
    region = _regions(survey(points, targets, g, np.float64), len(b))
    order = np.argsort(region, kind="stable")
    first = np.searchsorted(region[order], np.arange(region.max() + 1))
    return Targets(Y[order], b[order], first, cap), g[order], order


def _regions(found: Survey, size: int) -> Integers:
    """Targets that points choose between, if narrowly, are in one region."""
    from scipy.sparse.csgraph import connected_components

    narrow = found.margin <= np.median(found.margin)
    links = np.zeros((size, size))
    np.add.at(links, (found.best[narrow], found.second[narrow]), 1.0)
    return np.asarray(connected_components(links + links.T > 1, directed=False)[1], dtype=np.int64)


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


def _prices_of_unused(cloud: Cloud, Y: Floats, cap: float | None, f: Floats) -> Floats:
    """The highest prices that leave the potentials feasible at targets that nothing goes to."""
    unused = Targets(Y, np.zeros(len(Y)), np.zeros(1, dtype=np.int64), cap)
    prices = np.full(len(Y), np.inf)
    for place, points in blocks(cloud):
        np.minimum(prices, (unused.costs(points) - f[place, None]).min(axis=0), out=prices)
    return prices
