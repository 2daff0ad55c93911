"""`Groups`: what a coalition is made of, class-wise means of groups of a client's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, ProtocolError
from fedbary.protocols.messages import Reply, State, finite_array, finite_scalar
from fedbary.space import Points, Schema, embed
from fedbary.space.embed import class_codes
from fedbary.space.told import told_rows
from fedbary.valuation.scoring.mixture import grouped

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PREFIX = "group."
# Rows scaled by the reference lie within a few units of 0; a million units are an error or an attack.
_ABSURD = 1e6


@dataclass(frozen=True, eq=False)
class Groups:
    """Means in the features of the schema's space, their classes, how many rows each stands for, and V.

    ``scatter`` is V, the sum over all these rows of the squared distance from the mean of their group.
    """

    points: Floats
    classes: Integers
    counts: Floats
    scatter: float

    def to_arrays(self) -> dict[str, np.ndarray]:
        """As arrays of a reply or a state."""
        return {
            f"{PREFIX}points": self.points,
            f"{PREFIX}classes": self.classes.astype(float),
            f"{PREFIX}counts": self.counts,
            f"{PREFIX}scatter": np.array([self.scatter]),
        }

    @classmethod
    def from_state(cls, state: State) -> Groups:
        """What `to_arrays` wrote."""
        points, classes, counts, scatter = (state[f"{PREFIX}{name}"] for name in _NAMES)
        return cls(points, classes.astype(np.int64), counts, float(scatter[0]))

    @classmethod
    def from_reply(cls, reply: Reply, schema: Schema, *, most: int, min_group: int) -> Groups:
        """Check a client's groups completely before anything of them is used."""
        points = finite_array(reply, f"{PREFIX}points", (None, schema.feature_width))
        size, known = len(points), len(schema.label.classes)
        classes, counts = (finite_array(reply, f"{PREFIX}{name}", (size,)) for name in ("classes", "counts"))
        scatter = float(finite_array(reply, f"{PREFIX}scatter", (1,))[0])
        rows = finite_scalar(reply, "rows", least=1, most=1e12)
        if not np.isin(classes, np.arange(known)).all() or np.bincount(classes.astype(int), minlength=1).max() > most:
            raise ProtocolError(f"the reply has groups of unknown classes, or more than {most} of one class")
        if (counts < min_group).any() or (counts % 1 != 0).any() or counts.sum() > rows:
            raise ProtocolError(f"the reply has groups of fewer than {min_group} rows, or of more rows than there are")
        reach = max(float(np.abs(points).max(initial=0.0)), float(np.sqrt(max(scatter, 0.0) / max(counts.sum(), 1.0))))
        if scatter < 0 or reach > _ABSURD:
            raise ProtocolError(f"its groups reach {reach:.3g} where the reference has about 1: check the units")
        return cls(points, classes.astype(np.int64), counts, scatter)


def told_groups(table: Table, schema: Schema, *, most: int, min_group: int, seed: int) -> tuple[Table, Groups]:
    """The rows that a client may speak of, and their groups.

    Where no class has ``min_group`` different rows there are no groups: so nothing can be subtracted from sums over
    all rows, and of these the client may speak.
    """
    try:
        told = told_rows(table, schema.label.kind, min_group=min_group)
    except DataError:
        return table, Groups(np.empty((0, schema.feature_width)), np.empty(0, np.int64), np.empty(0), 0.0)
    return told, client_groups(told, embed(told, schema), schema, most=most, min_group=min_group, seed=seed)


_NAMES = ("points", "classes", "counts", "scatter")


def client_groups(table: Table, cloud: Points, schema: Schema, *, most: int, min_group: int, seed: int) -> Groups:
    """Groups of a table's rows: at most ``most`` for each class, of at least ``min_group`` different points each.

    A class is withheld where it has fewer, or where one point, made equal by the schema, would fill more than
    1/``min_group`` of a mean.
    """
    values, codes = cloud.points[:, : cloud.feature_width], class_codes(table, cloud, schema)
    copies = np.bincount(cloud.point_of_row, minlength=cloud.distinct).astype(float)
    points, classes, counts = [], [], []
    scatter = 0.0
    for code in range(len(schema.label.classes)):
        mine = np.flatnonzero(codes == code)
        if not _may_tell(copies[mine], min_group):
            continue
        parts = grouped(values[mine], most, min_group=min_group, seed=seed)
        if not all(_may_tell(copies[mine[parts == part]], min_group) for part in np.unique(parts)):
            parts = np.zeros(len(mine), dtype=np.int64)
        for part in np.unique(parts):
            rows = mine[parts == part]
            mean = np.average(values[rows], axis=0, weights=copies[rows])
            points.append(mean)
            classes.append(code)
            counts.append(copies[rows].sum())
            scatter += float(copies[rows] @ ((values[rows] - mean) ** 2).sum(axis=1))
    shape = (len(points), cloud.feature_width)
    return Groups(np.reshape(points, shape), np.array(classes, np.int64), np.array(counts, float), scatter)


def _may_tell(copies: Floats, min_group: int) -> bool:
    if not len(copies) or len(copies) < min_group:
        return False
    return min_group == 1 or bool(copies.max() * min_group <= copies.sum())
