"""Reconstruction from all rounds together: averages of overlapping groups are equations about the same rows.

A server that knows two columns of every row, such as age and post code, steers each round along another direction of
their plane. It then knows who is in which group, and the averages are linear equations for all other columns. There
are enough of them as soon as there are two rounds more than rows in a group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.averages import Round, blind, read_averages
from fedbary.auditing.finding import RECONSTRUCTION, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.scene import Scene
from fedbary.notes import Note
from fedbary.transport import solve

Floats = NDArray[np.float64]

# More rows mean larger equations, not other ones.
_MOST_ROWS = 150
_STEPS, _EXACT = 15, 1e-6
# In standard deviations.
_CLOSE = 1e-3


def joint_rounds(scene: Scene) -> Finding:
    """Share of rows whose other columns the averages of all rounds give away, two columns being known."""
    rng = scene.rng("joint rounds")
    table = scene.table.take(rng.permutation(len(scene.table))[:_MOST_ROWS])
    asking = scene.asking(support=len(table))
    schema, _ = blind(scene.schema)
    truth = scene.placed(table, schema)
    width = schema.value_width
    # The columns in which most rows differ tell them apart best.
    different = [len(np.unique(column)) for column in truth[:, :width].T]
    known = np.argsort(different)[::-1][:2]
    # Nobody has steered the first round, so its groups are not known.
    rounds = int(getattr(asking.defence.settings, "rounds", 1))
    angles = np.pi * (np.arange(1, rounds) + 0.5) / rounds
    directions = np.zeros((rounds - 1, schema.point_width))
    directions[:, known] = np.column_stack([np.cos(angles), np.sin(angles)])[:, : len(known)]
    with asking.defence.owner(table, rng) as owner:
        found = read_averages(owner, asking, list(directions))
    hits = 0
    if found and len(known) == 2 < width:
        rows = _solved(found[1:] or found, truth[:, known], known)
        close = np.abs(rows[:, :width] - truth[:, :width]) < _CLOSE
        hits = int(close.all(axis=1).sum())
    return measured(
        "reconstruction, all rounds together",
        RECONSTRUCTION,
        Note("audit.joint-rounds", {"rows": len(truth), "rounds": len(found)}),
        Rate.of(hits, len(truth)),
    )


def _solved(found: list[Round], columns: Floats, known: NDArray[np.int64]) -> Floats:
    """Rows that give the averages, where groups follow from the columns that are known.

    Near ties are guessed wrongly now and then. Equations that miss by more count for less, so that the many right ones
    outvote them (least absolute deviations by reweighting).
    """
    averages = np.vstack([one.averages for one in found])
    guess = np.tile(averages.mean(axis=0), (len(columns), 1))
    guess[:, known] = columns
    groups = np.vstack([_groups(one.gamma, guess) for one in found])
    weights = np.ones(len(groups))
    for _ in range(_STEPS):
        guess = np.linalg.lstsq(weights[:, None] * groups, weights[:, None] * averages, rcond=None)[0]
        missed = np.linalg.norm(groups @ guess - averages, axis=1)
        weights = 1.0 / np.sqrt(np.maximum(missed, _EXACT))
    return np.asarray(guess)


def _groups(gamma: Floats, rows: Floats) -> Floats:
    """The weight of each row in each average, if these are the rows."""
    plan = solve(gamma, rows)
    weights = np.zeros((len(gamma), len(rows)))
    np.add.at(weights, (plan.source, plan.target), plan.mass)
    return np.asarray(weights * len(gamma))
