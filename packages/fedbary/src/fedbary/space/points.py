"""`embed`: a table becomes a weighted cloud of points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.encode import encode
from fedbary.space.labels import check_kind, label_coordinates, label_numbers, label_positions
from fedbary.space.missing import marks, missing_by_column
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Points of a chunk.
_CHUNK = 65_536


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
        return len(self.points)

    def chunks(self) -> Iterator[Floats]:
        """The points in order, some at a time.

        Examples
        --------
        >>> import fedbary as fb
        >>> table = fb.Table.from_arrays([[0.0], [2.0]], ["a", "b"])
        >>> [len(chunk) for chunk in fb.embed(table, fb.fit_schema(table)).chunks()]
        [2]
        """
        for start in range(0, len(self.points), _CHUNK):
            yield self.points[start : start + _CHUNK]

    def in_memory(self) -> Points:
        """Itself, as a `StoredPoints` becomes one."""
        return self


def features(table: Table, schema: Schema) -> Floats:
    """Scaled, projected and whitened values and the marks of missing cells, one row per table row."""
    return np.hstack([place(encode(table, schema), schema), marks(missing_by_column(table, schema), schema)])


def missing_cells(table: Table, schema: Schema) -> NDArray[np.int64]:
    """How many of the schema's cells have no value in each row; a block of width w has w cells.

    Each row's number depends on its own cells alone.
    """
    return np.concatenate([missing_by_column(part, schema).sum(axis=1) for part in table.batches()])


def missing_share(table: Table, schema: Schema) -> float:
    """Share of the schema's cells that have no value, over all rows."""
    return float(missing_cells(table, schema).mean()) / cells_of_a_row(schema)


def cells_of_a_row(schema: Schema) -> int:
    """The most cells that a row can lack."""
    return sum(column.width for column in schema.columns)


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
    check_kind(table.labels, schema.label, where=table.origin)
    return cloud_of(encode(table, schema), missing_by_column(table, schema), table.labels, schema)


def cloud_of(encoded: Floats, missing: Integers, labels: NDArray[np.generic], schema: Schema) -> Points:
    """The points of encoded rows with their missing cells and labels."""
    marked = marks(missing, schema)
    numbers = label_numbers(labels, schema.label)
    # Copies are found before the matrix products, which round equal rows differently depending on where they stand;
    # and again after them, since rows can also fall together in the space.
    once, copy_of = _distinct(np.column_stack([encoded, marked, numbers]))
    values = np.hstack([place(encoded[once], schema), marked[once]])
    first, point_of_copy = _distinct(np.column_stack([values, numbers[once]]))
    point_of_row = point_of_copy[copy_of]
    weights = np.bincount(point_of_row, minlength=len(first)) / len(labels)
    values, labels = values[first], labels[once[first]]
    points = np.hstack([values, label_coordinates(labels, values[:, : schema.value_width], weights, schema.label)])
    return Points(points, weights, point_of_row, values.shape[1])


def random_points(rng: np.random.Generator, count: int, schema: Schema) -> Floats:
    """Standard normal points of the schema's space, at which nothing is missing."""
    drawn = rng.standard_normal((count, schema.point_width - schema.mark_width))
    values, labels = np.split(drawn, [schema.value_width], axis=1)
    return np.hstack([values, np.zeros((count, schema.mark_width)), labels])


def class_codes(table: Table, cloud: Points, schema: Schema) -> NDArray[np.int64]:
    """The class of every distinct point of a table's cloud, as its place in the schema; −1 for classes it lacks."""
    first = np.unique(cloud.point_of_row, return_index=True)[1]
    return label_positions(table.labels[first], schema.label.classes)


def place(encoded: Floats, schema: Schema) -> Floats:
    """Where encoded columns lie in the schema's space: projected with a residual, and whitened."""
    coordinates = project(encoded, None if schema.projection is None else schema.projection.directions)
    return coordinates if schema.whitening is None else coordinates @ schema.whitening


def project(values: Floats, directions: Floats | None) -> Floats:
    """Coordinates along directions (rows), and the length of what these leave out; all of them where there are none.

    Without the residual, noise off the data's manifold would be invisible.
    """
    if directions is None:
        return values
    coordinates = values @ directions.T
    lost = (values**2).sum(axis=1) - (coordinates**2).sum(axis=1)
    return np.column_stack([coordinates, np.sqrt(np.maximum(lost, 0.0))])


def _distinct(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each group of equal rows, in an order of their bytes, and the group of each row."""
    clean = np.ascontiguousarray(values + 0.0)  # −0.0 and 0.0 have different bytes
    keys = clean.view(np.dtype((np.void, clean.dtype.itemsize * clean.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, group
