"""What every attack starts from: the owner's rows, the rows that the server has, and what it can write itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.owner import Defence
from fedbary.data.table import Table
from fedbary.protocols.messages import Message
from fedbary.space.fit import fit_schema
from fedbary.space.options import Labels, Space
from fedbary.space.points import embed
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A label that no row has.
NOBODY = "nobody has this label"


@dataclass(frozen=True, eq=False)
class Scene:
    """A federation of one owner and a server that cheats.

    Parameters
    ----------
    table : Table
        The owner's rows.
    reference : Table
        The server's rows, which are like the owner's and none of them.
    defence : Defence
        What the owner relies on.
    trials : int
        Owners of each world that a game shows to the server.
    seed : int
        Of everything but the owner's noise.
    """

    table: Table
    reference: Table
    defence: Defence
    trials: int
    seed: int

    @cached_property
    def honest(self) -> Message:
        """The first message of an honest server; a dishonest one changes what it likes in it."""
        asked = self.defence.asked
        space = asked.space(None)
        server = asked.server(["owner"], self.reference, space, rules=RowRules(), seed=self.seed)
        return server.tasks()["owner"]

    @cached_property
    def schema(self) -> Schema:
        """The space that a dishonest server chooses: plain scaled columns, labels as corners of a simplex."""
        return fit_schema(self.reference, Space(metric="euclidean", labels=self._labels))

    @cached_property
    def points(self) -> Floats:
        """Where each of the owner's rows lies in that space."""
        return self.placed(self.table)

    @cached_property
    def known(self) -> Floats:
        """Where the server's own rows lie."""
        return self.placed(self.reference)

    @cached_property
    def target(self) -> int:
        """The owner's row that is the easiest to find: the one farthest from its nearest neighbour."""
        squared = (self.points**2).sum(axis=1)
        distances = squared[:, None] + squared - 2.0 * self.points @ self.points.T
        np.fill_diagonal(distances, np.inf)
        return int(np.argmax(distances.min(axis=1)))

    @property
    def some(self) -> int:
        """Rows of an owner in a game: half of all, so that others can take a row's place."""
        return len(self.table) // 2

    def rng(self, attack: str) -> np.random.Generator:
        """The attack's own random numbers."""
        return np.random.default_rng([self.seed, *attack.encode()])

    def placed(self, table: Table, schema: Schema | None = None) -> Floats:
        """Where the rows of a table lie, one point for each."""
        cloud = embed(table, schema or self.schema)
        return np.asarray(cloud.points[cloud.point_of_row])

    def others(self, rng: np.random.Generator, size: int, without: Sequence[int] = ()) -> Integers:
        """Positions of so many of the owner's rows, the target and those in ``without`` not among them."""
        left = np.setdiff1d(np.arange(len(self.table)), [self.target, *without])
        return np.asarray(rng.choice(left, size, replace=False), dtype=np.int64)

    def asking(self, **changes: object) -> Scene:
        """The same with other settings asked for by the server."""
        defence = replace(self.defence, asked=replace(self.defence.asked, **changes))
        return replace(self, defence=defence)

    @property
    def _labels(self) -> Labels:
        return "onehot" if self.table.has_classes else "numeric"


def written(honest: Message, schema: Schema, **parts: object) -> Message:
    """The honest message with a schema and parts of the server's own: arrays and scalars by their names."""
    scalars = {**honest.scalars, "schema": schema.to_json(), "fingerprint": schema.fingerprint}
    arrays = dict(honest.arrays)
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            arrays[name] = part
        else:
            scalars[name] = part  # type: ignore[assignment]
    return Message(honest.kind, honest.round, scalars, arrays)
