"""Differencing: a table is asked, a row of it changes, and it is asked again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import INFERENCE, Finding, measured
from fedbary.auditing.game import World, play
from fedbary.auditing.owner import Owner
from fedbary.auditing.promises import Promises
from fedbary.auditing.row_probe import about
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table
from fedbary.notes import Note

Floats = NDArray[np.float64]


def versions(scene: Scene) -> Finding:
    """How often the server guesses whether the row that came is the one it knows."""
    ask = about(scene, scene.table.take([scene.target]))

    def world(comes: bool) -> World:
        def table(rng: np.random.Generator) -> Table:
            *others, leaves, stranger = scene.others(rng, scene.some + 1)
            # The last two rows: the one that leaves, and the one that takes its place.
            return scene.table.take([*others, leaves, scene.target if comes else stranger])

        return table

    def twice(owner: Owner, rng: np.random.Generator) -> Floats:
        both, size = owner.table, len(owner.table)
        owner.table = both.take(np.arange(size - 1))
        before = ask(owner, rng)
        owner.table = both.take(np.append(np.arange(size - 2), size - 1))
        after = ask(owner, rng)
        return np.concatenate([before, after, after - before])

    rng = scene.rng("versions")
    played = play(scene.defence, world(comes=False), world(comes=True), twice, trials=scene.trials, rng=rng)
    what, limit = Note("audit.versions", {"trials": played.trials}), Promises.of(scene.defence).versions
    return measured("two versions of a table", INFERENCE, what, played.right_guesses(), limit)
