"""From prices to a plan: doubtful points are settled one by one, the sure ones in groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.transport.cloud import Cloud, points_of
from fedbary.transport.simplex import network_simplex
from fedbary.transport.survey import Survey, Targets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Ends of the shares of points, by how sure they are, that make groups of their own.
_LEVELS = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.7])


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
