"""Averages of rows that interpolation sends, freed of everything else in them.

A point of γ after a round is (1 − t)·[(1 − s)·γ_before + s·x̄] + t·η_Q, x̄ an average of the owner's rows, and t and s
the owner's secrets. A server that adds a class which nobody has to the schema gets a coordinate in which x̄ is zero: two
numbers times what it knows. From the S points of one round it reads both, and with them x̄. By η_Q it also decides
along which direction the rows of the next round are sorted into groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.owner import Owner
from fedbary.auditing.scene import NOBODY, Scene, written
from fedbary.protocols.messages import Failure, Message
from fedbary.space.points import random_points
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

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
    """Averages of the first round and of one more for each direction; none where the owner refuses.

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
