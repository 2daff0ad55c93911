"""Linear reconstruction: a server that asks again and again reads row by row.

With two sketch points at −L·u and L·u and k/m of the mass on the first, the k rows with the smallest u·x go there. The
costs for k and k + 1 then differ by 4·L·u·x/m of a single row. Asked again with u turned a little towards each
coordinate, the same difference gives that row, coordinate by coordinate. Merging small points does not help: both
points take many rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.finding import RECONSTRUCTION, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.owner import Owner
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import Scene
from fedbary.auditing.sketch_questions import sketch
from fedbary.notes import Note
from fedbary.protocols.messages import Failure

Floats = NDArray[np.float64]

ROWS, COORDINATES = 20, 8
_FAR, _TURN = 30.0, 1e-5
_CAP = 1e6
# In standard deviations: so close by chance is nobody.
_CLOSE = 1e-3


def repeated_questions(scene: Scene) -> Finding:
    """Share of rows that repeated questions read."""
    rng = scene.rng("repeated questions")
    # Rows whose order along a direction is theirs alone: copies would be read as one.
    points = scene.points
    coordinates = np.flatnonzero(points[:, : scene.schema.feature_width].std(axis=0) > 0.0)
    coordinates = rng.permutation(coordinates)[:COORDINATES]
    rows = max(1, min(ROWS, len(points) - 2 * (scene.defence.settings.min_group + 1)))
    direction = np.zeros(points.shape[1])
    direction[: scene.schema.feature_width] = rng.standard_normal(scene.schema.feature_width)
    direction /= np.linalg.norm(direction)
    first = (len(points) - rows) // 2
    with scene.defence.owner(scene.table, rng) as owner:
        asker = _Asker(scene, owner)
        read = _read(asker, direction, range(first, first + rows), coordinates)
    hits = 0
    if read is not None:
        truth = points[np.argsort(points @ direction)][first : first + rows][:, coordinates]
        hits = int((np.abs(read - truth).max(axis=1) < _CLOSE).sum())
    facts = {"rows": rows, "answered": asker.answered, "asked": asker.asked}
    return measured(
        "repeated questions",
        RECONSTRUCTION,
        Note("audit.repeated-questions", facts),
        Rate.of(hits, rows),
        Promises.of(scene.defence).questions,
    )


class _Asker:
    """Asks until it is refused."""

    def __init__(self, scene: Scene, owner: Owner) -> None:
        self._scene, self._owner = scene, owner
        self.asked = self.answered = 0

    def costs(self, direction: Floats, counts: range) -> Floats | None:
        """The answered cost for each number of rows that go to the first point; None once one is refused."""
        rows, found = len(self._owner.table), []
        for count in counts:
            self.asked += 1
            points = np.outer([-_FAR, _FAR], direction)
            masses = np.array([count / rows, 1.0 - count / rows])
            reply = self._owner.ask(sketch(self._scene, self._scene.schema, points, masses, cap=_CAP))
            if isinstance(reply, Failure):
                return None
            self.answered += 1
            found.append(float(reply.scalars["cost"]))
        return np.array(found)

    def projections(self, direction: Floats, places: range) -> Floats | None:
        """u·x of the rows at these places of the order along u."""
        costs = self.costs(direction, range(places.start, places.stop + 1))
        return None if costs is None else np.diff(costs) * len(self._owner.table) / (4.0 * _FAR)


def _read(asker: _Asker, direction: Floats, places: range, coordinates: NDArray[np.int64]) -> Floats | None:
    before = asker.projections(direction, places)
    if before is None:
        return None
    read = np.empty((len(before), len(coordinates)))
    for column, coordinate in enumerate(coordinates):
        turned = direction.copy()
        turned[coordinate] += _TURN
        after = asker.projections(turned, places)
        if after is None:
            return None
        read[:, column] = (after - before) / _TURN
    return read
