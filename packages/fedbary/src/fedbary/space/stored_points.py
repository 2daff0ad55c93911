"""`StoredPoints`: the cloud of a table that is too large for memory, and the making of clouds from parts of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.spool import Spool
from fedbary.data.table import Table
from fedbary.space.copies import first_and_group, joined
from fedbary.space.labels import LabelledPart, check_kind, coordinates_of_classes, named_classes
from fedbary.space.missing import marks
from fedbary.space.parts import Part
from fedbary.space.points import Points, cloud_of, place
from fedbary.space.row_identity import hashed_rows
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points that are read at a time: memory of that size is used again, larger pieces are asked of the system every time.
_CHUNK = 8192


@dataclass(frozen=True, eq=False)
class StoredPoints:
    """The empirical measure of a large table: as `Points`, but the points lie in a spool and come in chunks.

    They stand in the order in which the rows came.

    Attributes
    ----------
    of_rows : Spool
        The point of every row.
    first : array
        Whether a row is the first one at its point.
    weights, point_of_row, feature_width
        As in `Points`.
    """

    of_rows: Spool
    first: NDArray[np.bool_]
    weights: Floats
    point_of_row: Integers
    feature_width: int

    @property
    def rows(self) -> int:
        """Rows of the table, copies included."""
        return len(self.point_of_row)

    @property
    def distinct(self) -> int:
        """Different points."""
        return len(self.weights)

    def chunks(self) -> Iterator[Floats]:
        """The points in order, some at a time."""
        for at, points in self.of_rows.placed(_CHUNK):
            new = self.first[at]
            if new.all():
                yield points
            elif new.any():
                yield points[new]

    def in_memory(self) -> Points:
        """The same with all points at once, at the price of memory."""
        return Points(np.concatenate(list(self.chunks())), self.weights, self.point_of_row, self.feature_width)


class CloudMaker:
    """Makes the cloud of a table from its parts: `Points` of a single one, `StoredPoints` of several."""

    def __init__(self, table: Table, schema: Schema) -> None:
        check_kind(table.labels, schema.label, where=table.origin)
        self._labels, self._schema = table.labels, schema
        if schema.label.kind == "number":
            self._label_of_row, self._names = np.arange(len(table)), table.labels
        else:
            self._label_of_row, self._names = named_classes(table.labels)
        # Gaussian ones depend on all rows, and are added last.
        self._late = schema.label.coordinates.startswith("gaussian")
        self._coordinates = np.zeros((len(self._names), 0)) if self._late else self._label_coordinates()
        self._only: Part | None = None
        self._points, self._rows = Spool(schema.feature_width + self._coordinates.shape[1]), 0
        self._as_encoded: list[NDArray[np.bytes_]] = []
        self._as_placed: list[NDArray[np.bytes_]] = []

    def add(self, part: Part) -> None:
        """Take the next rows."""
        if self._only is None and not self._rows:
            self._only = part
            return
        if self._only is not None:
            self._store(self._only)
            self._only = None
        self._store(part)

    def made(self) -> Points | StoredPoints:
        """The cloud of all rows that came."""
        if self._only is not None:
            return cloud_of(self._only.encoded, self._only.missing, self._labels, self._schema)
        # Copies are found before the matrix products, which round equal rows differently depending on where they stand;
        # and again after them, since rows can also fall together in the space.
        first, point_of_row = first_and_group(np.concatenate(self._as_encoded))
        if self._moves:
            again, point_of_copy = first_and_group(np.concatenate(self._as_placed)[first])
            first, point_of_row = first[again], point_of_copy[point_of_row]
        weights = np.bincount(point_of_row, minlength=len(first)) / self._rows
        is_first = np.zeros(self._rows, dtype=bool)
        is_first[first] = True
        points = self._with_labels(is_first, weights) if self._late else self._points
        return StoredPoints(points, is_first, weights, point_of_row, self._schema.feature_width)

    def _with_labels(self, is_first: NDArray[np.bool_], weights: Floats) -> Spool:
        """The points of rows with label coordinates that depend on all of them."""

        def distinct() -> Iterator[LabelledPart]:
            start = 0
            for at, features in self._points.placed():
                new = is_first[at]
                stop = start + int(new.sum())
                values = features[new, : self._schema.value_width]
                yield values, weights[start:stop], self._label_of_row[at][new]
                start = stop

        labels, points = self._label_coordinates(distinct), Spool(self._schema.point_width)
        for at, features in self._points.placed():
            points.append(np.hstack([features, labels[self._label_of_row[at]]]))
        return points

    def _label_coordinates(self, parts: Callable[[], Iterator[LabelledPart]] = lambda: iter(())) -> Floats:
        return coordinates_of_classes(self._names, parts, self._schema.label)

    @property
    def _moves(self) -> bool:
        return self._schema.projection is not None or self._schema.whitening is not None

    def _store(self, part: Part) -> None:
        missing = marks(part.missing, self._schema)
        at = self._label_of_row[self._rows : self._rows + len(part)]
        numbers = self._labels[at] if self._schema.label.kind == "number" else at
        besides = hashed_rows(np.column_stack([missing, numbers.astype(np.float64)]))
        self._as_encoded.append(joined(hashed_rows(part.encoded), besides))
        values = place(part.encoded, self._schema)
        if self._moves:
            self._as_placed.append(joined(hashed_rows(values), besides))
        self._points.append(np.hstack([values, missing, self._coordinates[at]]))
        self._rows += len(part)
