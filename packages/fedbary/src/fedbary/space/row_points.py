"""Points row by row: each by a function of its own cells and the schema, whatever the other rows hold.

`fedbary.space.points.embed` refuses what does not fit, merges equal rows and multiplies matrices. All of that lets one
row decide what happens to others, which differential privacy does not allow. Here a cell that does not fit has a public
place (a number that cannot be read is a missing one, an unknown category or class is ``other``), coordinates are
clipped, and the arithmetic is elementwise: what is correctly rounded does not depend on where a row stands.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbary.data.categories import category_names
from fedbary.data.table import Table
from fedbary.space.cells import cell_numbers
from fedbary.space.encode import between_categories, bounded, require_columns
from fedbary.space.labels import class_positions
from fedbary.space.missing import marks, missing_by_column
from fedbary.space.schema import ColumnSpec, LabelSpec, Schema

Floats = NDArray[np.float64]

# Scales from the mean beyond which a number lies no farther away: no honest cost is that large.
FARTHEST = 1e6
# Numbers in a temporary array, so that it stays in a processor's cache.
_IN_CACHE = 2**14


def row_points(table: Table, schema: Schema) -> Floats:
    """Coordinates of all rows, one line per coordinate: features as `embed` places them, then the label's.

    Raises only where columns are missing or have another width. Label coordinates must not depend on other rows, so
    they are those of ``onehot`` or ``numeric``.
    """
    encoded = row_values(table, schema)
    with np.errstate(all="ignore"):
        if schema.projection is not None:
            encoded = projected(encoded, schema.projection.directions)
        if schema.whitening is not None:
            encoded = mapped(encoded, schema.whitening)
        missing = marks(missing_by_column(table, schema), schema)
        return np.vstack([encoded, missing.T, _label(table.labels, schema.label)])


def row_values(table: Table, schema: Schema) -> Floats:
    """Scaled columns of all rows, one line per coordinate, before they are projected and whitened."""
    require_columns(table, schema)
    with np.errstate(all="ignore"):
        return np.vstack([_column(table.columns[column.name], column) for column in schema.columns])


def label_places(labels: NDArray[np.generic], classes: tuple[str, ...]) -> NDArray[np.int64]:
    """The place of each row's class among these, and their number for a class that is none of them."""
    return class_positions(category_names(labels), classes, unknown=len(classes))


def chunks(rows: int, height: int) -> Iterator[slice]:
    """Consecutive rows, so many at a time that ``height`` numbers of each stay in the cache."""
    size = max(8, _IN_CACHE // height)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def _column(values: NDArray[np.generic], column: ColumnSpec) -> Floats:
    if column.kind == "categorical":
        names = category_names(values)
        missing = np.array([name is None for name in names])
        return np.where(missing, between_categories(column)[:, None], _corners(names, column.categories))
    numbers = cell_numbers(values).reshape(len(values), column.width).T
    numbers = np.where(np.isnan(numbers), np.array(column.middle)[:, None], numbers)
    numbers = bounded(numbers.T, column).T
    return _standard(numbers, np.array(column.mean)[:, None], np.array(column.scale)[:, None])


def _label(labels: NDArray[np.generic], spec: LabelSpec) -> Floats:
    if spec.coordinates == "numeric":
        return np.asarray(np.sqrt(spec.weight) * _standard(cell_numbers(labels)[None, :], spec.mean, spec.scale))
    return np.asarray(np.sqrt(spec.weight / 2.0) * _corners(category_names(labels), spec.classes))


def _standard(numbers: Floats, mean: Floats | float, scale: Floats | float) -> Floats:
    standard = (numbers - mean) / scale
    return np.clip(np.where(np.isnan(standard), 0.0, standard), -FARTHEST, FARTHEST)


def _corners(found: NDArray[np.object_], names: tuple[str, ...]) -> Floats:
    """A one in the line of each row's category, in the last line for those that have no name here."""
    corners = np.zeros((len(names) + 1, len(found)))
    corners[class_positions(found, names, unknown=len(names)), np.arange(len(found))] = 1.0
    return corners


def projected(values: Floats, directions: Floats) -> Floats:
    """Coordinates along directions (rows), and the length of what these leave out."""
    coordinates = mapped(values, directions.T)
    lost = squares(values) - squares(coordinates)
    return np.vstack([coordinates, np.sqrt(np.maximum(lost, 0.0))])


def squares(values: Floats) -> Floats:
    """Each row's sum of squares, term by term in the order of its lines."""
    total = np.zeros(values.shape[1])
    for line in values:
        total += line * line
    return total


def mapped(values: Floats, matrix: Floats) -> Floats:
    """Each row times the matrix, term by term in the order of its lines."""
    height = matrix.shape[1]
    mapped = np.zeros((height, values.shape[1]))
    factors = np.ascontiguousarray(matrix)[:, :, None]
    for part in chunks(values.shape[1], height):
        total, term = mapped[:, part].copy(), np.empty((height, part.stop - part.start))
        for place, line in enumerate(values):
            np.multiply(factors[place], line[part], out=term)
            np.add(total, term, out=total)
        mapped[:, part] = total
    return mapped
