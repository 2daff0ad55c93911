"""Sketches that no honest server sends, and what can be seen in the answers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.game import Probe
from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import Scene, written
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.protocols.sketch.numbers import ABOUT_ROWS
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Part of the nearest known row's squared distance that no other row should come within.
_CLOSE_BY = 0.02
# Part of that distance over which a model forgets the row; how sure it is of the row at its place; how much heavier a
# centroid can be; how odd it holds the row for, and how few clean rows it says so by.
_NEARBY, _SURE, _HEAVIEST, _ODD, _FEW_CLEAN = 0.05, 10.0, 200.0, 1e6, 25
# So much larger a scale silences a column beside the label.
_SILENCE = 1e3
# So much more quietly other directions speak than the loud one.
_WHISPER = 1e-3


def sketch(scene: Scene, schema: Schema, points: Floats, weights: Floats, *, cap: float) -> Message:
    """A sketch of these points, and no counts of rows: without them the costs have the whole of an ε."""
    scalars = {name: value for name, value in scene.honest.scalars.items() if name not in ("odd_from", "doubted_from")}
    return written(
        replace(scene.honest, scalars=scalars),
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
    question = sketch(scene, scene.schema, place, np.ones(1), cap=cap if np.isfinite(cap) else 1.0)
    model = _speaking_of(scene, place)
    if not model:
        return question
    arrays = {name: array for name, array in question.arrays.items() if "." not in name}
    return replace(question, arrays=arrays | model)


def _speaking_of(scene: Scene, place: Floats) -> dict[str, np.ndarray]:
    """A model that says nothing of any row but one at this place: that has the label there, and is odd.

    Of all others it holds every class for equally likely, so that a single row decides the estimate of wrong labels;
    clean rows are so few that a single odd row shows in the upper end of an interval.
    """
    schema = scene.schema
    if schema.label.kind != "classes" or schema.projection is not None:
        return {}
    width, names = schema.encoded_width, list(schema.label.classes)
    names.append(names.pop(int(np.argmax(place[schema.feature_width :][: len(names)]))))
    count, clean = len(names), _FEW_CLEAN
    centre = scene.known[:, :width].mean(axis=0)
    distances = ((scene.known[:, :width] - place[:width]) ** 2).sum(axis=1)
    nearby = float(distances[distances > 1e-9].min(initial=np.inf))
    epsilon = _NEARBY * (nearby if np.isfinite(nearby) else 1.0)
    # All classes have a centroid at the centre, so heavy that only a row at the place is nearer to the last's other.
    heavy = min(float(((centre - place[:width]) ** 2).sum()) / epsilon - _SURE, _HEAVIEST)
    points, classes = np.vstack([np.tile(centre, (count, 1)), place[:width]]), np.append(np.arange(count), count - 1)
    weights = np.append(np.full(count, np.exp(heavy)), 1.0)
    model = {
        "classes": np.frombuffer(json.dumps(names).encode("utf-8"), dtype=np.uint8).copy(),
        "numbers": np.array([0.0, epsilon, 0.0, 1.0]),
        "log_prior": np.full(count, -np.log(count)),
        "mean": np.zeros(width),
        "directions": np.eye(width),
        "variances": np.ones(width),
        "coefficients": np.zeros((0, width)),
        "offsets": np.zeros(0),
        "scales": np.full((1, count), 1.0 / epsilon),
        "biases": np.zeros((1, count)),
        "blend": np.ones(1),
        "feature.centre": np.append(np.zeros(count - 1), -_ODD),
        "feature.scale": np.ones(count),
        **{f"{name}.points": points for name in ("shared", "feature")},
        **{f"{name}.classes": classes for name in ("shared", "feature")},
        **{f"{name}.weights": weights for name in ("shared", "feature")},
    }
    return {
        **{f"model.{name}": array for name, array in model.items()},
        "clean.log_probabilities": np.full((clean, count), -np.log(count)),
        "clean.codes": np.arange(clean) % count,
        "clean.feature": np.full(clean, _ODD / 2.0),
    }


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
        return np.append(np.zeros(4 + len(ABOUT_ROWS)), 1.0)
    cost, relaxed, lower = (float(reply.scalars.get(name, 0.0)) for name in ("cost", "relaxed", "lower"))
    # Of two numbers with noise, both must be small: where both are, the likelihood ratio is largest.
    about = [float(reply.scalars.get(name, 0.0)) for name in ABOUT_ROWS]
    return np.array([cost, relaxed, lower, max(cost, relaxed), *about, 0.0])


def asking(message: Message) -> Probe:
    """A probe that asks this one question."""

    def probe(owner: Owner, _: np.random.Generator) -> Floats:
        return seen(owner.ask(message))

    return probe
