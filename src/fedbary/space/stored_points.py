"""`StoredPoints`: the cloud of a table that is too large for memory, and the making of clouds from parts of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.spool import Spool
from fedbary.data.table import Table
from fedbary.space.copies import first_and_group, joined
from fedbary.space.labels import LabelledPart, check_kind, coordinates_of_classes, label_numbers, named_classes
from fedbary.space.missing import marks
from fedbary.space.parts import Part
from fedbary.space.points import Points, cloud_of, place
from fedbary.space.row_identity import hashed_rows
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredPoints:
    """The empirical measure of a large table: as `Points`, but the points lie in a spool and come in chunks.

    They stand in the order in which the rows came.

    Attributes
    ----------
    values : Spool
        Features and marks of every row.
    first : array
        Whether a row is the first one at its point.
    label_of_row, labels : arrays
        The label coordinates, and for each row which of them are its own.
    weights, point_of_row, feature_width
        As in `Points`.
    """

    values: Spool
    first: NDArray[np.bool_]
    label_of_row: Integers
    labels: Floats
    weights: Floats
    point_of_row: Integers

    @property
    def feature_width(self) -> int:
        """How many of the coordinates are features."""
        return self.values.width

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
        for at, values in self.values.placed():
            new = self.first[at]
            if new.any():
                yield np.hstack([values[new], self.labels[self.label_of_row[at][new]]])

    def in_memory(self) -> Points:
        """The same with all points at once, at the price of memory."""
        return Points(np.concatenate(list(self.chunks())), self.weights, self.point_of_row, self.feature_width)


class CloudMaker:
    """Makes the cloud of a table from its parts: `Points` of a single one, `StoredPoints` of several."""

    def __init__(self, table: Table, schema: Schema) -> None:
        check_kind(table.labels, schema.label, where=table.origin)
        self._labels, self._schema = table.labels, schema
        self._numbers = label_numbers(table.labels, schema.label)
        self._only: Part | None = None
        self._values, self._rows = Spool(schema.feature_width), 0
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
        if self._schema.label.kind == "number":
            label_of_row, names = np.arange(self._rows), self._labels
        else:
            label_of_row, names = named_classes(self._labels)

        def distinct() -> Iterator[LabelledPart]:
            start = 0
            for at, values in self._values.placed():
                new = is_first[at]
                stop = start + int(new.sum())
                yield values[new, : self._schema.value_width], weights[start:stop], label_of_row[at][new]
                start = stop

        labels = coordinates_of_classes(names, distinct, self._schema.label)
        return StoredPoints(self._values, is_first, label_of_row, labels, weights, point_of_row)

    @property
    def _moves(self) -> bool:
        return self._schema.projection is not None or self._schema.whitening is not None

    def _store(self, part: Part) -> None:
        missing = marks(part.missing, self._schema)
        numbers = self._numbers[self._rows : self._rows + len(part)]
        besides = hashed_rows(np.column_stack([missing, numbers]))
        self._as_encoded.append(joined(hashed_rows(part.encoded), besides))
        values = np.hstack([place(part.encoded, self._schema), missing])
        if self._moves:
            self._as_placed.append(joined(hashed_rows(values), besides))
        self._values.append(values)
        self._rows += len(part)
