"""Attribute inference: the label of somebody whose other columns the server knows."""

from __future__ import annotations

import numpy as np

from fedbary.auditing.finding import INFERENCE, Finding, measured
from fedbary.auditing.game import World, play
from fedbary.auditing.promises import Promises
from fedbary.auditing.row_probe import about
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table
from fedbary.notes import Note


def attribute(scene: Scene) -> Finding | None:
    """How often the label is guessed of a row that has its own, or that of another row; None where all have one."""
    own = scene.table.take([scene.target])
    elsewhere = np.flatnonzero(scene.table.labels != own.labels[0])
    if not len(elsewhere):
        return None
    changed = own.replace(labels=scene.table.labels[elsewhere[:1]])

    def world(row: Table) -> World:
        def table(rng: np.random.Generator) -> Table:
            found = scene.table.take(np.append(scene.others(rng, scene.some - 1), scene.target))
            return found.replace(labels=np.append(found.labels[:-1], row.labels))

        return table

    rng = scene.rng("attribute")
    played = play(scene.defence, world(changed), world(own), about(scene, own), trials=scene.trials, rng=rng)
    what = Note("audit.attribute", {"trials": played.trials})
    return measured("label of a known row", INFERENCE, what, played.right_guesses(), Promises.of(scene.defence).guess)
