"""Membership: whether a row that the server knows is among the owner's."""

from __future__ import annotations

import math

import numpy as np

from fedbary.auditing.finding import MEMBERSHIP, Finding, measured
from fedbary.auditing.game import Played, play
from fedbary.auditing.intervals import FALSE_POSITIVES
from fedbary.auditing.promises import Promises
from fedbary.auditing.row_probe import all_about
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table
from fedbary.notes import Note


def membership(scene: Scene) -> Finding:
    """How often the row is found by a server that knows it, and rows like the others, but not the others."""

    def without(rng: np.random.Generator) -> Table:
        return scene.table.take(scene.others(rng, scene.some))

    def within(rng: np.random.Generator) -> Table:
        return scene.table.take(np.append(scene.others(rng, scene.some - 1), scene.target))

    rng = scene.rng("membership")
    games = [
        play(scene.defence, without, within, probe, trials=scene.trials, rng=rng)
        for probe in all_about(scene, scene.table.take([scene.target]))
    ]
    played = max(games, key=lambda game: game.looked_like)
    return membership_finding(scene, "membership", played, Note("audit.membership", {"trials": played.trials}))


def membership_finding(scene: Scene, attack: str, played: Played, what: Note) -> Finding:
    """True positives at one per cent false ones, beside what ε allows."""
    rate, epsilon = played.true_positives(), scene.defence.epsilon
    more = max(0.0, rate.false_positives - FALSE_POSITIVES)
    slack = 0.0 if epsilon is None else math.exp(epsilon) * more
    return measured(attack, MEMBERSHIP, what, rate, Promises.of(scene.defence).membership, slack=slack)
