"""Count inference: how many rows have a label, to a single row."""

from __future__ import annotations

import numpy as np

from fedbary.auditing.finding import INFERENCE, Finding, measured
from fedbary.auditing.game import World, play
from fedbary.auditing.promises import Promises
from fedbary.auditing.row_probe import of_class
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.space.labels import class_names


def counts(scene: Scene) -> Finding | None:
    """How often a count n is told from n + 1; None where the label is no class, or everybody has the same."""
    if scene.schema.label.kind != "classes":
        return None
    names = class_names(scene.table.labels)
    kinds, sizes = np.unique(names, return_counts=True)
    known = np.isin(kinds, scene.schema.label.classes)
    if known.sum() < 2:
        return None
    name = str(kinds[known][np.argmin(np.abs(sizes[known] - len(names) / 3))])
    inside, outside = np.flatnonzero(names == name), np.flatnonzero(names != name)
    size = min(len(inside), len(outside)) // 2

    def world(more: int) -> World:
        def table(rng: np.random.Generator) -> Table:
            mine = rng.choice(inside, size + more, replace=False)
            return scene.table.take(np.append(mine, rng.choice(outside, size - more, replace=False)))

        return table

    rng = scene.rng("counts")
    played = play(scene.defence, world(0), world(1), of_class(scene, name), trials=scene.trials, rng=rng)
    what = Note("audit.count", {"trials": played.trials, "rows": int(size)})
    return measured("rows of a class", INFERENCE, what, played.right_guesses(), Promises.of(scene.defence).guess)
