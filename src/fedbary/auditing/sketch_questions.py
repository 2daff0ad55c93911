"""Sketches that no honest server sends, and what can be seen in the answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.game import Probe
from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import Scene, written
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Part of the nearest known row's squared distance that no other row should come within.
_CLOSE_BY = 0.02
# So much larger a scale silences a column beside the label.
_SILENCE = 1e3
# So much more quietly other directions speak than the loud one.
_WHISPER = 1e-3


def sketch(scene: Scene, schema: Schema, points: Floats, weights: Floats, *, cap: float) -> Message:
    """A sketch of these points."""
    return written(
        scene.honest,
        schema,
        points=np.atleast_2d(points),
        weights=np.asarray(weights, dtype=float),
        variances=np.zeros(len(weights)),
        cap=float(cap),
    )


def near(scene: Scene, place: Floats) -> Message:
    """Is a row at this place? A single point there, and a cap that every other row reaches.

    All numbers of the answer then count rows at the place. The cap is a small part of the squared distance of the
    nearest row that the server knows of.
    """
    distances = ((scene.known - place) ** 2).sum(axis=1)
    cap = _CLOSE_BY * float(distances[distances > 1e-9].min(initial=np.inf))
    return sketch(scene, scene.schema, place, np.ones(1), cap=cap if np.isfinite(cap) else 1.0)


def loud(scene: Scene, place: Floats) -> Message:
    """How far do rows stray in the direction that sets this place apart? A metric makes it louder than all others.

    The direction is that of a linear discriminant between the place and the rows that the server knows. A row there
    adds its squared length to the mean cost; where it outweighs all others, an owner may refuse, which tells as much.
    """
    width = scene.schema.value_width
    features = scene.known[:, :width]
    centre = features.mean(axis=0)
    covariance = np.cov(features.T).reshape(width, width)
    covariance += 0.1 * (np.trace(covariance) / width) * np.eye(width)
    direction = np.linalg.solve(covariance, place[:width] - centre)
    direction /= np.linalg.norm(direction) or 1.0
    spread = np.sqrt(direction @ covariance @ direction)
    metric = _WHISPER * np.eye(width) + np.outer(direction, direction) / spread
    label = scene.schema.label
    if label.kind == "classes":
        label = replace(label, weight=_WHISPER * label.weight)
    else:
        label = replace(label, scale=label.scale / _WHISPER)
    point = np.zeros(scene.schema.point_width)
    point[:width] = centre @ metric
    cap = float(((place[:width] @ metric - point[:width]) ** 2).sum()) or 1.0
    return sketch(scene, replace(scene.schema, label=label, whitening=metric), point, np.ones(1), cap=cap)


def of_class(scene: Scene, name: str) -> Message:
    """How many rows have this label? Features are scaled away, and the cap is half the distance of two labels."""
    numbers = [column for column in scene.schema.columns if column.kind != "categorical"]
    columns = tuple(
        replace(column, scale=tuple(_SILENCE * scale for scale in column.scale), absence=0.0) for column in numbers
    ) or (scene.schema.columns[0],)
    schema = replace(scene.schema, columns=columns, projection=None)
    place = np.zeros(schema.point_width)
    place[schema.feature_width + schema.label.classes.index(name)] = np.sqrt(schema.label.weight / 2.0)
    return sketch(scene, schema, place, np.ones(1), cap=schema.label.weight / 2.0)


def seen(reply: Reply | Failure) -> Floats:
    """The numbers of an answer in which a row may show; the last says that there is none."""
    if isinstance(reply, Failure):
        return np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    cost, relaxed, lower = (float(reply.scalars.get(name, 0.0)) for name in ("cost", "relaxed", "lower"))
    # Of two numbers with noise, both must be small: where both are, the likelihood ratio is largest.
    return np.array([cost, relaxed, lower, max(cost, relaxed), 0.0])


def asking(message: Message) -> Probe:
    """A probe that asks this one question."""

    def probe(owner: Owner, _: np.random.Generator) -> Floats:
        return seen(owner.ask(message))

    return probe
