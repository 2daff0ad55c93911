"""One walk over a client's rows: their points, their cells, and what the received model says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbary.data.ahead import ahead
from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.protocols.sketch.number_scoring import Lined, LineJudge
from fedbary.protocols.sketch.scoring import Judge, Judged
from fedbary.space.cell_counts import CellCounter, CellCounts
from fedbary.space.parts import encoded_parts
from fedbary.space.points import Points
from fedbary.space.schema import Schema
from fedbary.space.stored_points import CloudMaker, StoredPoints

# Rows of a part: with no more there is nothing to make ahead.
_PART = 65_536


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What the walk tells: the cloud of the rows, their counted cells, and what a model or a line says of them.

    ``judged`` is of rows with classes, ``lined`` of rows whose label is a number; both are None where the server sent
    nothing to judge by, or, as ``problem`` says, nothing sensible.
    """

    cloud: Points | StoredPoints
    cells: CellCounts
    judged: Judged | None = None
    lined: Lined | None = None
    problem: FedbaryError | None = None


def walk(table: Table, schema: Schema, arrays: Mapping[str, np.ndarray]) -> SeenRows:
    """Go through the rows once, a part at a time."""
    judge, line, problem = None, None, None
    try:
        if schema.label.kind == "number":
            line = LineJudge.of(schema, arrays)
        else:
            judge = Judge.of(schema, arrays, rows=len(table))
    except FedbaryError as error:  # the distance does not need it
        problem = error
    points, cells = CloudMaker(table, schema), CellCounter(schema)
    parts = encoded_parts(table, schema)
    for part in parts if len(table) <= _PART else ahead(parts):
        points.add(part)
        cells.add(part.table, part.missing)
        if judge is not None:
            judge.add(part)
        if line is not None:
            line.add(part)
    judged = None if judge is None else judge.judged(table)
    lined = None if line is None else line.judged()
    return SeenRows(points.made(), cells.counted(), judged, lined, problem)
