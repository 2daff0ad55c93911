"""The question about one row that each protocol lets a server ask, and what it sees in the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing import card_questions, sketch_questions
from fedbary.auditing.averages import blind, read_averages
from fedbary.auditing.game import Probe
from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table

Floats = NDArray[np.float64]


def all_about(scene: Scene, row: Table) -> tuple[Probe, ...]:
    """Every way we know of asking whether this row (a table of one) is among the owner's, the best guess first."""
    if scene.defence.asked.name != "sketch":
        return (about(scene, row),)
    return about(scene, row), sketch_questions.asking(sketch_questions.loud(scene, scene.placed(row)[0]))


def about(scene: Scene, row: Table) -> Probe:
    """Ask whether this row (a table of one) is among the owner's."""
    if scene.defence.asked.name == "sketch":
        return sketch_questions.asking(sketch_questions.near(scene, scene.placed(row)[0]))
    if scene.defence.asked.name == "cards":
        return card_questions.near(scene, row)
    schema, _ = blind(scene.schema)
    place = scene.placed(row, schema)[0]
    return towards(scene, place, place - scene.placed(scene.reference, schema).mean(axis=0))


def of_class(scene: Scene, name: str) -> Probe:
    """Ask how many of the owner's rows have this label."""
    if scene.defence.asked.name == "sketch":
        return sketch_questions.asking(sketch_questions.of_class(scene, name))
    if scene.defence.asked.name == "cards":
        return card_questions.of_class(scene, name)
    schema, _ = blind(scene.schema)
    corner = np.zeros(schema.point_width)
    corner[schema.feature_width + schema.label.classes.index(name)] = np.sqrt(schema.label.weight / 2.0)
    return towards(scene, corner, corner)


def towards(scene: Scene, place: Floats, direction: Floats) -> Probe:
    """Averages of rows that are sorted along a direction: how near they come to a place, and how far they lie."""
    unit = direction / (np.linalg.norm(direction) or 1.0)

    def probe(owner: Owner, _: np.random.Generator) -> Floats:
        found = read_averages(owner, scene, [unit])
        if not found:
            return np.array([0.0, 0.0, 0.0, 1.0])
        averages = found[-1].averages
        along = averages @ unit
        return np.array([np.linalg.norm(averages - place, axis=1).min(), along.max(), along.mean(), 0.0])

    return probe
