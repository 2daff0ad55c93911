"""What a server sees of one row in a card, which answers no question and so is the same for all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.game import Probe
from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import Scene
from fedbary.data.table import Table
from fedbary.protocols.cards.card import Card
from fedbary.protocols.cards.class_moments import ClassMoments
from fedbary.protocols.cards.client import card_of
from fedbary.protocols.cards.placing import placed
from fedbary.protocols.cards.private_card import GRID, whole_points
from fedbary.protocols.messages import Failure
from fedbary.space.encode import encode
from fedbary.space.labels import class_names
from fedbary.space.public_points import public_points
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

_RIDGE = 0.05


def card_from(owner: Owner, scene: Scene) -> Card | None:
    """The owner's card; None where it refuses."""
    reply = owner.ask(scene.honest)
    return None if isinstance(reply, Failure) else card_of(reply)


def near(scene: Scene, row: Table) -> Probe:
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


def of_class(scene: Scene, name: str) -> Probe:
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
        classes = len(_schema(scene).label.classes) if scene.table.has_classes else 1
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
    schema = _schema(scene)
    if scene.defence.epsilon is None:
        return lambda table: encode(table, schema)
    clip = float(schema.clip or 1.0)
    return lambda table: whole_points(public_points(table, schema), clip) * (clip / GRID)


def _schema(scene: Scene) -> Schema:
    asked = scene.honest.scalars.get("schema")
    return scene.schema if asked is None else Schema.from_json(str(asked))


def _moments(card: Card, scene: Scene) -> ClassMoments:
    if card.schema is None:
        return placed(card, _schema(scene))
    moved = card.about(np.zeros(card.width))
    return ClassMoments(moved.counts, moved.sums, moved.second)
