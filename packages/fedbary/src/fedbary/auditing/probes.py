"""What a dishonest server asks, protocol by protocol, and what it sees of one row in the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.game import Probe
from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import NOBODY, Scene, written
from fedbary.data.table import Table
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.cards.placing import placed
from fedbary.protocols.cards.private_card import GRID, whole_points
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.protocols.sketch.numbers import ABOUT_ROWS
from fedbary.space.encode import PublicCoordinates, encode
from fedbary.space.labels import class_names
from fedbary.space.points import random_points
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Part of the nearest known row's squared distance that no other row should come within.
_CLOSE_BY = 0.02
# Part of that distance over which a model forgets the row; how sure it is of the row at its place; how much heavier a
# centroid can be. Which candidate the scoring model is, and the weight of those that have no say.
_NEARBY, _SURE, _HEAVIEST = 0.05, 10.0, 200.0
_BY_REFERENCE, _SILENT = 3, 1e-9
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


def sketch_near(scene: Scene, place: Floats) -> Message:
    """Is a row at this place? A single point there, and a cap that every other row reaches.

    All numbers of the answer then count rows at the place. The cap is a small part of the squared distance of the
    nearest row that the server knows of.
    """
    distances = ((scene.known - place) ** 2).sum(axis=1)
    cap = _CLOSE_BY * float(distances[distances > 1e-9].min(initial=np.inf))
    question = sketch(scene, scene.schema, place, np.ones(1), cap=cap if np.isfinite(cap) else 1.0)
    if not (model := _speaking_of(scene, place)):
        return question
    honest = {name: array for name, array in question.arrays.items() if not name.startswith("model.")}
    return replace(question, arrays=honest | model)


def _speaking_of(scene: Scene, place: Floats) -> dict[str, np.ndarray]:
    """A model by which only a row at this place has a surprising label: that alone decides the share of wrong ones.

    Of all other rows it holds every class for equally likely. It stands in the place of the honest scoring model, and
    has all the weight.
    """
    schema, honest = scene.schema, scene.honest.arrays
    width = schema.encoded_width
    fits = "others.centre" in honest and len(honest["others.centre"]) == width
    if schema.label.kind != "classes" or schema.projection is not None or not fits:
        return {}
    names = list(schema.label.classes)
    own = int(np.argmax(place[schema.feature_width :][: len(names)]))
    count, other = len(names), (own + 1) % len(names)
    centre = scene.known[:, :width].mean(axis=0)
    distances = ((scene.known[:, :width] - place[:width]) ** 2).sum(axis=1)
    nearby = float(distances[distances > 1e-9].min(initial=np.inf))
    epsilon = _NEARBY * (nearby if np.isfinite(nearby) else 1.0)
    # All classes have a centroid at the centre, so heavy that only a row at the place is nearer to the other class's.
    heavy = min(float(((centre - place[:width]) ** 2).sum()) / epsilon - _SURE, _HEAVIEST)
    model = {
        "classes": np.frombuffer(json.dumps(names).encode("utf-8"), dtype=np.uint8).copy(),
        "numbers": np.array([0.0, epsilon, 1.0]),
        "log_prior": np.full(count, -np.log(count)),
        "mean": np.zeros(width),
        "directions": np.eye(width),
        "variances": np.ones(width),
        "coefficients": np.zeros((0, width)),
        "offsets": np.zeros(0),
        "scales": np.full((1, count), 1.0 / epsilon),
        "biases": np.zeros((1, count)),
        "blend": np.ones(1),
        "shared.points": np.vstack([np.tile(centre, (count, 1)), place[:width]]),
        "shared.classes": np.append(np.arange(count), other),
        "shared.weights": np.append(np.full(count, np.exp(heavy)), 1.0),
    }
    weights = np.full(len(honest["candidate_weights"]), _SILENT)
    weights[_BY_REFERENCE] = 1.0
    return {"candidate_weights": weights, **{f"model.{name}": array for name, array in model.items()}}


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


def sketch_of_class(scene: Scene, name: str) -> Message:
    """How many rows have this label? Features are scaled away, and the cap is half the distance of two labels."""
    numbers = [column for column in scene.schema.columns if column.kind != "categorical"]
    columns = tuple(
        replace(column, scale=tuple(_SILENCE * scale for scale in column.scale), absence=0.0) for column in numbers
    ) or (scene.schema.columns[0],)
    schema = replace(scene.schema, columns=columns, projection=None)
    place = np.zeros(schema.point_width)
    place[schema.feature_width + schema.label.classes.index(name)] = np.sqrt(schema.label.weight / 2.0)
    return sketch(scene, schema, place, np.ones(1), cap=schema.label.weight / 2.0)


def sketch_seen(reply: Reply | Failure) -> Floats:
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
        return sketch_seen(owner.ask(message))

    return probe


# Standard deviations over which η_Q is stretched: groups are then sorted along its direction alone.
_STRETCH = 1e6
_FEWEST_POINTS = 3


@dataclass(frozen=True, eq=False)
class Round:
    """The points that rows were grouped by, and the average of each group."""

    gamma: Floats
    averages: Floats


def blind(schema: Schema) -> tuple[Schema, int]:
    """The schema with a coordinate in which every row is zero, and the place of it."""
    label = schema.label
    if label.kind == "classes":
        return replace(schema, label=replace(label, classes=(*label.classes, NOBODY))), (
            schema.feature_width + len(label.classes)
        )
    return replace(schema, label=replace(label, scale=1e9 * label.scale)), schema.feature_width


def read_averages(
    owner: Owner, scene: Scene, directions: Sequence[Floats] = (), *, t: float | None = None
) -> list[Round]:
    """Averages of rows that interpolation sends, freed of everything else in them; none where the owner refuses.

    A point of γ after a round is (1 − t)·[(1 − s)·γ_before + s·x̄] + t·η_Q, x̄ an average of the owner's rows, and t and
    s the owner's secrets. A server that adds a class which nobody has to the schema gets a coordinate in which x̄ is
    zero: two numbers times what it knows. From the S points of one round it reads both, and with them x̄. By η_Q it also
    decides along which direction the rows of the next round are sorted into groups: one more round for each direction.
    With ``t`` the server believes to know both of the owner's secrets.
    """
    schema, place = blind(scene.schema)
    session = owner.session()
    reply = session.ask(written(scene.honest, schema, support=int(scene.defence.asked.support)))  # type: ignore[attr-defined]
    if isinstance(reply, Failure):
        return []
    agreed = int(reply.scalars["allowed"])
    gamma, found = _first_points(scene, schema, agreed), list[Round]()
    steps = [*directions, np.eye(schema.point_width)[0]]
    for number, direction in enumerate(steps, start=1):
        eta_q = _steering(gamma, direction, place, number)
        reply = session.ask(Message("step", number, {"support": agreed} if number == 1 else {}, {"eta_q": eta_q}))
        if isinstance(reply, Failure) or len(gamma) < _FEWEST_POINTS:
            break
        moved = reply.arrays["gamma"]
        # Both sides of the owner's matching are sorted along the direction, so the sum of their shares is, too.
        taken = np.empty_like(eta_q)
        taken[np.argsort(moved @ direction)] = eta_q[np.argsort(eta_q @ direction)]
        if t is None:
            known = np.column_stack([gamma[:, place], taken[:, place]])
            shares = np.linalg.lstsq(known, moved[:, place], rcond=None)[0]
            towards_server, towards_rows = float(shares[1]), 1.0 - float(shares[0]) / (1.0 - float(shares[1]))
        else:
            towards_server = towards_rows = t
        eta_p = (moved - towards_server * taken) / (1.0 - towards_server)
        found.append(Round(gamma, (eta_p - (1.0 - towards_rows) * gamma) / towards_rows))
        gamma = moved
    return found


def _first_points(scene: Scene, schema: Schema, count: int) -> Floats:
    """The γ that all begin with, drawn from the server's own seed."""
    return random_points(np.random.default_rng(int(scene.honest.scalars["gamma_seed"])), count, schema)


def _steering(gamma: Floats, direction: Floats, place: int, number: int) -> Floats:
    """Points far apart along a direction, told from each other by a coordinate of their own."""
    spread = _STRETCH * np.linspace(-1.0, 1.0, len(gamma))
    points = spread[:, None] * direction[None, :]
    points[:, place] = np.random.default_rng(number).uniform(-1.0, 1.0, len(gamma))
    return np.asarray(points)


_RIDGE = 0.05


def card_from(owner: Owner, scene: Scene) -> Card | None:
    """The owner's card; None where it refuses."""
    reply = owner.ask(scene.honest)
    return None if isinstance(reply, Failure) else card_of(reply)


def card_near(scene: Scene, row: Table) -> Probe:
    """How the card leans towards a row (a table of one), beside what rows like the server's own would give.

    For every class its count and the likelihood ratio of its sum with and without the row; and the second moment along
    the same direction, and the row's leverage.
    """
    coordinates = _coordinates(scene)
    known, names = coordinates(scene.reference), class_names(scene.reference.labels)
    own = names == class_names(row.labels)[0] if scene.table.has_classes else np.ones(len(names), dtype=bool)
    middle = known[own].mean(axis=0) if own.any() else known.mean(axis=0)
    spread = np.cov(known.T, ddof=0).reshape(known.shape[1], -1)
    spread = spread + _RIDGE * (np.trace(spread) / len(spread) + 1e-12) * np.eye(len(spread))
    place = coordinates(row)[0] - middle
    direction = np.linalg.solve(spread, place)
    direction /= np.linalg.norm(direction) or 1.0
    seen = _Seen(scene, middle, place, direction)

    def probe(owner: Owner, _: np.random.Generator) -> Floats:
        card = card_from(owner, scene)
        return seen.nothing if card is None else seen.numbers(card)

    return probe


def card_of_class(scene: Scene, name: str) -> Probe:
    """How many of the owner's rows have this label."""

    def probe(owner: Owner, _: np.random.Generator) -> Floats:
        card = card_from(owner, scene)
        if card is None or name not in card.classes:
            return np.array([0.0, 1.0])
        return np.array([card.counts[card.classes.index(name)], 0.0])

    return probe


def card_sums(card: Card, names: Sequence[str]) -> Floats:
    """Sums of these columns over all rows behind a card, about zero; with noise in the units of the public schema."""
    columns = card.columns if card.schema is None else card.schema.columns
    places = dict(zip((c.name for c in columns), np.cumsum([0, *(c.coordinates for c in columns)]), strict=False))
    return np.asarray(card.about(np.zeros(card.width)).sums.sum(axis=0)[[places[name] for name in names]])


class _Seen:
    """Numbers of a card about one place, as many for every card."""

    def __init__(self, scene: Scene, middle: Floats, place: Floats, direction: Floats) -> None:
        self._scene, self._middle, self._place, self._direction = scene, middle, place, direction
        classes = len(_card_schema(scene).label.classes) if scene.table.has_classes else 1
        self.nothing = np.zeros(2 * classes + 3)
        self.nothing[-1] = 1.0

    def numbers(self, card: Card) -> Floats:
        moments = _moments(card, self._scene)
        sums, width = moments.sums[:, : len(self._middle)], len(self._middle)
        second = moments.second[:width, :width] if moments.full else np.diag(moments.second[:width])
        total = sums.sum(axis=0)
        about = second - np.outer(total, self._middle) - np.outer(self._middle, total)
        about += moments.rows * np.outer(self._middle, self._middle)
        along = (sums - moments.counts[:, None] * self._middle) @ self._direction
        ridge = _RIDGE * (abs(np.trace(about)) / width + 1e-12) * np.eye(width)
        leverage = float(self._place @ np.linalg.lstsq(about + ridge, self._place, rcond=None)[0])
        spread = float(self._direction @ about @ self._direction)
        return np.array([*moments.counts, *along, spread, leverage, 0.0])


def _coordinates(scene: Scene) -> Callable[[Table], Floats]:
    """Rows as points of the coordinates in which the server looks at cards."""
    schema = _card_schema(scene)
    if scene.defence.epsilon is None:
        return lambda table: encode(table, schema)
    clip = float(schema.clip or 1.0)
    return lambda table: whole_points(PublicCoordinates(schema).points(table), clip) * (clip / GRID)


def _card_schema(scene: Scene) -> Schema:
    asked = scene.honest.scalars.get("schema")
    return scene.schema if asked is None else Schema.from_json(str(asked))


def _moments(card: Card, scene: Scene) -> ClassMoments:
    if card.schema is None:
        return placed(card, _card_schema(scene))
    moved = card.about(np.zeros(card.width))
    return ClassMoments(moved.counts, moved.sums, moved.second)


def all_about(scene: Scene, row: Table) -> tuple[Probe, ...]:
    """Every way we know of asking whether this row (a table of one) is among the owner's, the best guess first."""
    if scene.defence.asked.name != "sketch":
        return (about(scene, row),)
    return about(scene, row), asking(loud(scene, scene.placed(row)[0]))


def about(scene: Scene, row: Table) -> Probe:
    """Ask whether this row (a table of one) is among the owner's."""
    if scene.defence.asked.name == "sketch":
        return asking(sketch_near(scene, scene.placed(row)[0]))
    if scene.defence.asked.name == "cards":
        return card_near(scene, row)
    schema, _ = blind(scene.schema)
    place = scene.placed(row, schema)[0]
    return towards(scene, place, place - scene.placed(scene.reference, schema).mean(axis=0))


def of_class(scene: Scene, name: str) -> Probe:
    """Ask how many of the owner's rows have this label."""
    if scene.defence.asked.name == "sketch":
        return asking(sketch_of_class(scene, name))
    if scene.defence.asked.name == "cards":
        return card_of_class(scene, name)
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
