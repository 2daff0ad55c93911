"""`Groups`: what a coalition is made of, class-wise means of groups of a client's rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, ProtocolError
from fedbary.protocols.messages import Reply, State
from fedbary.space.fit import fit_schema
from fedbary.space.k_anonymous import k_anonymous_rows
from fedbary.space.labels import class_names
from fedbary.space.means import encoded_means
from fedbary.space.options import Space
from fedbary.space.points import features
from fedbary.space.schema import Schema
from fedbary.valuation.scoring.mixture import grouped

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PREFIX = "group."
_NAMES = ("points", "classes", "counts", "scatter")
# Rows scaled by the reference lie within a few units of 0; ten thousand units are an error or an attack.
_ABSURD = 1e4


@dataclass(frozen=True, eq=False)
class Groups:
    """Means of groups of rows, their classes, how many rows each stands for, and V.

    ``scatter`` is V, the sum over all these rows of the squared distance from the mean of their group.
    """

    points: Floats
    classes: Integers
    counts: Floats
    scatter: float

    @property
    def rows(self) -> float:
        """Rows in all groups together."""
        return float(self.counts.sum())

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As arrays of a reply or a state."""
        parts = (self.points, self.classes.astype(float), self.counts, np.array([self.scatter]))
        return {f"{PREFIX}{name}": array for name, array in zip(_NAMES, parts, strict=True)}

    @classmethod
    def from_state(cls, state: State) -> Groups:
        """What `to_arrays` wrote."""
        points, classes, counts, scatter = (state[f"{PREFIX}{name}"] for name in _NAMES)
        return cls(points, classes.astype(np.int64), counts, float(scatter[0]))

    @classmethod
    def from_reply(cls, reply: Reply, schema: Schema, *, most: int, min_group: int) -> Groups:
        """Check a client's groups completely before anything of them is used."""
        points, classes, counts, scatters = (reply.arrays[f"{PREFIX}{name}"] for name in _NAMES)
        size, known = len(points), len(schema.label.classes)
        scatter, rows = float(scatters[0]), float(reply.scalars["rows"])
        if not np.isin(classes, np.arange(known)).all() or np.bincount(classes.astype(int), minlength=1).max() > most:
            raise ProtocolError("protocols.groups-of-unknown-classes", most=most)
        if (counts < min_group).any() or (counts % 1 != 0).any() or counts.sum() > rows:
            raise ProtocolError("protocols.groups-too-small", least=min_group)
        wide = np.sqrt(max(scatter, 0.0) / max(counts.sum(), 1.0))
        reach = max(float(np.abs(points).max(initial=0.0)), float(wide))
        if scatter < 0 or reach > _ABSURD or (not size and scatter):
            raise ProtocolError("protocols.groups-far-off", reach=float(reach))
        return cls(points, classes.astype(np.int64), counts, scatter)

    def moved(self, points: Floats, shrunk: float) -> Groups:
        """The same groups in another space, in which the rows scatter ``shrunk`` times as much."""
        return replace(self, points=points, scatter=self.scatter * shrunk)


def encoded_width(schema: Schema) -> int:
    """Coordinates of a group's mean: those of the scaled columns, before any projection, and of missing cells."""
    return schema.encoded_width + schema.mark_width


def client_groups(table: Table, schema: Schema, *, most: int, min_group: int, seed: int) -> Groups:
    """Groups of k-anonymous rows: at most ``most`` for each class, of at least ``min_group`` different rows each.

    Which rows belong together is decided by the client's own columns and scaling, so that no server can gather the
    rows that it is after. Where no class has ``min_group`` different rows there are no groups.
    """
    try:
        told = k_anonymous_rows(table, "classes", min_group=min_group)
    except DataError:
        return Groups(np.empty((0, encoded_width(schema))), np.empty(0, np.int64), np.empty(0), 0.0)
    own = Space(task="classification", metric="euclidean", labels="onehot", projection="none", missing="indicate")
    values, names = features(told, fit_schema(told, own)), class_names(told.labels)
    of = np.full(len(told), -1, dtype=np.int64)
    classes: list[int] = []
    for code, name in enumerate(schema.label.classes):
        mine = np.flatnonzero(names == name)
        if len(mine) and len(mine) >= min_group:
            of[mine] = len(classes) + grouped(values[mine], most, min_group=min_group, seed=seed)
            classes += [code] * (int(of[mine].max()) + 1 - len(classes))
    means, scatter = encoded_means(told, schema, of, min_group=min_group)
    counts = np.bincount(of[of >= 0], minlength=len(classes)).astype(float)
    return Groups(means[: len(classes)], np.array(classes, dtype=np.int64), counts, scatter)
