"""Clouds: all different rows of a table as weighted points; in memory, or, of a table that is too large, in a spool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fedbary.data.spool import Spool
from fedbary.data.table import Table
from fedbary.space.columns import Bools, Floats, Integers, category_places
from fedbary.space.encode import marks, place, require_fit
from fedbary.space.labels import LabelledPart, gaussian_coordinates, named_classes
from fedbary.space.row_identity import first_and_group, hashed_rows, joined
from fedbary.space.schema import Schema
from fedbary.space.walk import Batch

# Points of a chunk; of stored ones fewer: such memory is used again, larger pieces are asked of the system anew.
_CHUNK, _STORED_CHUNK = 65_536, 8192


@dataclass(frozen=True, eq=False)
class Points:
    """The empirical measure of a table: its *distinct* points and their weights.

    Equal rows are one point with more weight, and the points stand in an order that depends on their values
    alone. So copying a whole table, or shuffling its rows, gives the same problem to the last bit or two, and
    guards that count rows count different rows.

    Attributes
    ----------
    points, weights : arrays
        Distinct points ``[features ; label coordinates]`` and their weights, which sum to one.
    point_of_row : array
        For each row of the table, the index of its point.
    feature_width : int
        How many of the coordinates are features.
    """

    points: Floats
    weights: Floats
    point_of_row: NDArray[np.int64]
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
        for start in range(0, len(self.points), _CHUNK):
            yield self.points[start : start + _CHUNK]

    def in_memory(self) -> Points:
        """Itself, as a `StoredPoints` becomes one."""
        return self


@dataclass(frozen=True, eq=False)
class StoredPoints:
    """The empirical measure of a large table: as `Points`, but in a spool, in the order in which the rows came.

    ``of_rows`` has the point of every row, and ``first`` says whether a row is the first one at its point.
    """

    of_rows: Spool
    first: Bools
    weights: Floats
    point_of_row: Integers
    feature_width: int

    @property
    def rows(self) -> int:
        return len(self.point_of_row)

    @property
    def distinct(self) -> int:
        return len(self.weights)

    def chunks(self) -> Iterator[Floats]:
        for at, points in self.of_rows.placed(_STORED_CHUNK):
            new = self.first[at]
            if new.all():
                yield points
            elif new.any():
                yield points[new]

    def in_memory(self) -> Points:
        """The same with all points at once, at the price of memory."""
        return Points(np.concatenate(list(self.chunks())), self.weights, self.point_of_row, self.feature_width)


def embed(table: Table, schema: Schema) -> Points:
    """Turn a table into points of the schema's space.

    Examples
    --------
    >>> import fedbary as fb
    >>> table = fb.Table.from_arrays([[0.0], [2.0], [2.0]], ["a", "b", "b"])
    >>> cloud = fb.embed(table, fb.fit_schema(table))
    >>> cloud.rows, cloud.distinct
    (3, 2)
    """
    schema.label.require(table.labels, where=table.origin)
    require_fit(table, schema)
    return _cloud(Batch(table, schema))


def _cloud(batch: Batch) -> Points:
    schema, labels, encoded = batch.schema, batch.table.labels, batch.encoded
    marked, numbers = marks(batch.missing, schema), schema.label.numbers(labels)
    # Copies are found before the matrix products, which round equal rows differently depending on where they stand;
    # and again after them, since rows can also fall together in the space.
    once, copy_of = _distinct(np.column_stack([encoded, marked, numbers]))
    values = np.hstack([place(encoded[once], schema), marked[once]])
    first, point_of_copy = _distinct(np.column_stack([values, numbers[once]]))
    point_of_row = point_of_copy[copy_of]
    weights = np.bincount(point_of_row, minlength=len(first)) / len(labels)
    values, labels = values[first], labels[once[first]]
    if schema.label.gaussian:
        codes, names = named_classes(labels)
        part = values[:, : schema.value_width], weights, codes
        full = schema.label.coordinates == "gaussian-full"
        beside = gaussian_coordinates(lambda: iter([part]), len(names), full=full)[codes]
    else:
        beside = schema.label.encode(labels)
    return Points(np.hstack([values, beside]), weights, point_of_row, values.shape[1])


def _distinct(values: Floats) -> tuple[Integers, Integers]:
    """First row of each group of equal rows, in an order of their bytes, and the group of each row."""
    clean = np.ascontiguousarray(values + 0.0)  # −0.0 and 0.0 have different bytes
    keys = clean.view(np.dtype((np.void, clean.dtype.itemsize * clean.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, group


class CloudFold:
    """The cloud of a table from its batches: `Points` of a single one, `StoredPoints` of several.

    Whether labels are of the schema's kind is asked of all of them, beforehand (`LabelSpec.require`).
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._only: Batch | None = None
        # Gaussian coordinates depend on all rows, and are added last.
        self._spool = Spool(schema.feature_width if schema.label.gaussian else schema.point_width)
        self._labels: list[NDArray[np.generic]] = []
        self._as_encoded: list[NDArray[np.bytes_]] = []
        self._as_placed: list[NDArray[np.bytes_]] = []
        self._moves = schema.projection is not None or schema.whitening is not None

    def add(self, batch: Batch) -> None:
        if self._only is None and not self._labels:
            self._only = batch
            return
        self._store_only()
        self._store(batch)

    def merge(self, other: CloudFold) -> None:
        for fold in (self, other):
            fold._store_only()
        for points in other._spool.parts():
            self._spool.append(points)
        self._labels += other._labels
        self._as_encoded += other._as_encoded
        self._as_placed += other._as_placed

    def done(self) -> Points | StoredPoints:
        if self._only is not None:
            return _cloud(self._only)
        # As in memory: copies are found before the matrix products, and again after them.
        first, point_of_row = first_and_group(np.concatenate(self._as_encoded))
        if self._moves:
            again, point_of_copy = first_and_group(np.concatenate(self._as_placed)[first])
            first, point_of_row = first[again], point_of_copy[point_of_row]
        weights = np.bincount(point_of_row, minlength=len(first)) / len(point_of_row)
        is_first = np.zeros(len(point_of_row), dtype=bool)
        is_first[first] = True
        spool = self._with_labels(is_first, weights) if self._schema.label.gaussian else self._spool
        return StoredPoints(spool, is_first, weights, point_of_row, self._schema.feature_width)

    def _with_labels(self, is_first: Bools, weights: Floats) -> Spool:
        """The points of rows with label coordinates that depend on all of them."""
        codes, names = named_classes(np.concatenate(self._labels))

        def distinct() -> Iterator[LabelledPart]:
            start = 0
            for at, features in self._spool.placed():
                new = is_first[at]
                stop = start + int(new.sum())
                yield features[new, : self._schema.value_width], weights[start:stop], codes[at][new]
                start = stop

        full = self._schema.label.coordinates == "gaussian-full"
        labels, points = gaussian_coordinates(distinct, len(names), full=full), Spool(self._schema.point_width)
        for at, features in self._spool.placed():
            points.append(np.hstack([features, labels[codes[at]]]))
        return points

    def _store_only(self) -> None:
        if self._only is not None:
            self._store(self._only)
            self._only = None

    def _store(self, batch: Batch) -> None:
        schema, labels = self._schema, batch.table.labels
        missing, values = marks(batch.missing, schema), place(batch.encoded, schema)
        if schema.label.kind == "number":
            label_hashes = hashed_rows(schema.label.numbers(labels)[:, None])
        else:
            codes, names = named_classes(labels)
            label_hashes = np.array(
                [blake2b(repr(str(name)).encode(), digest_size=16).digest() for name in names], "S16"
            )[codes]
        besides = joined(hashed_rows(missing), label_hashes)
        self._as_encoded.append(joined(hashed_rows(batch.encoded), besides))
        if self._moves:
            self._as_placed.append(joined(hashed_rows(values), besides))
        beside = [] if schema.label.gaussian else [schema.label.encode(labels)]
        self._spool.append(np.hstack([values, missing, *beside]))
        self._labels.append(labels)


def random_points(rng: np.random.Generator, count: int, schema: Schema) -> Floats:
    """Standard normal points of the schema's space, at which nothing is missing."""
    drawn = rng.standard_normal((count, schema.point_width - schema.mark_width))
    values, labels = np.split(drawn, [schema.value_width], axis=1)
    return np.hstack([values, np.zeros((count, schema.mark_width)), labels])


def class_codes(table: Table, cloud: Points, schema: Schema) -> Integers:
    """The class of every distinct point of a table's cloud, as its place in the schema; −1 for classes it lacks."""
    first = np.unique(cloud.point_of_row, return_index=True)[1]
    return category_places(table.labels[first], schema.label.classes)
