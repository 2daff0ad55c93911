"""What a schema may contain: what fitting one makes, and nothing beyond.

A schema comes from another party and decides how rows become numbers. Its parts must mean to a client what they mean to
its guards, and no number in it may be so large or so small that the arithmetic of a row leaves the finite numbers.
Whether a schema is refused depends on the schema alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedbary.data.reading import LEFT_OUT, ColumnReading, Reading, columns_made
from fedbary.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedbary.space.schema import ColumnSpec, LabelSpec, Schema

KINDS = ("block", "boolean", "numeric", "categorical")
# A class name beyond this is free text, and every party would have to carry it in its schema.
LONGEST_CLASS = 200
# No measured quantity is larger (see `fedbary.data`), and squares of these are still finite.
LARGEST, SMALLEST = 1e100, 1e-100

# What a column of a file may be in a schema, a description or a card, by what it is read as.
_READ_AS = {
    "number": ("numeric", "boolean"),
    "boolean": ("boolean", "numeric"),
    "category": ("categorical",),
    "ordered": ("numeric",),
    "date": ("numeric",),
    "vector": ("block",),
    "image": ("block",),
    "text": ("block",),
}
_COORDINATES = {"classes": ("onehot", "gaussian", "gaussian-full"), "number": ("numeric",)}
_MOST_COORDINATES = 2**20
# How far directions may be from orthonormal, and a metric from symmetric.
_ROUNDING = 1e-6
# Largest ratio of the lengths to which a metric brings two directions. Fitting without any shrinkage stays below.
_MOST_STRETCH = 1e12
_LARGEST_METRIC = 1e50


class _Column(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def width(self) -> int: ...


def require_plausible(schema: Schema) -> None:
    """Refuse a schema that no honest party makes."""
    columns, label = schema.columns, schema.label
    names = [column.name for column in columns]
    if not columns or not all(isinstance(name, str) for name in [*names, label.name]) or len(set(names)) < len(names):
        raise SchemaError("schema.impossible")
    if not all(_column_exists(column) for column in columns) or not _label_exists(label):
        raise SchemaError("schema.impossible")
    if schema.missing not in ("refuse", "indicate") or type(schema.shared_mark) is not bool:
        raise SchemaError("schema.impossible")
    if schema.encoded_width > _MOST_COORDINATES or not is_reading_of(schema.reading, columns):
        raise SchemaError("schema.impossible")
    for column in columns:
        if not _column_bounded(column):
            raise SchemaError("schema.beyond-bounds", what=f"scaling of column '{column.name}'")
    if not (_bounded(label.mean) and _bounded(label.scale, SMALLEST) and _bounded(label.weight, 0.0)):
        raise SchemaError("schema.beyond-bounds", what="label")
    if schema.clip is not None and not _bounded(schema.clip, SMALLEST):
        raise SchemaError("schema.beyond-bounds", what="clip norm")
    if schema.projection is not None and not _orthonormal(schema.projection.directions, columns):
        raise SchemaError("schema.beyond-bounds", what="projection")
    if schema.whitening is not None and not _metric(schema.whitening, schema.value_width):
        raise SchemaError("schema.beyond-bounds", what="metric")


def is_reading_of(reading: Reading, columns: Iterable[_Column]) -> bool:
    """Whether files that are read like this have such columns, and no column comes from two of a file's."""
    found = {column.name: (column.kind, column.width) for column in columns}
    made = reading.columns()
    if len(set(made)) < len(made) or any(column.kind in LEFT_OUT for column in reading.values()):
        return False
    return all(is_made_of(name, column, found) for name, column in reading.items())


def is_made_of(name: str, column: ColumnReading, found: Mapping[str, tuple[str, int]]) -> bool:
    """Whether what a file's column becomes is among columns of some kinds and widths."""
    own, *circles = columns_made(name, column)
    kind, width = found.get(own, ("", 0))
    fits = kind in _READ_AS[column.kind] and _width_read(column) in (None, width)
    return fits and all(found.get(one) == ("block", 2) for one in circles)


def _width_read(column: ColumnReading) -> int | None:
    """How many numbers a cell is read as; None where nobody says it.

    Else a few words of a schema would make a client fill its memory with numbers for which the schema has no place.
    """
    from fedbary.data.encoders import width_of

    return column.width or width_of(column)


def _column_exists(column: ColumnSpec) -> bool:
    if column.kind not in KINDS or type(column.width) is not int:
        return False
    if type(column.may_lack) is not bool or type(column.bounded) is not bool or column.bounded > bool(column.low):
        return False
    numbers = (column.mean, column.scale, column.middle, column.low, column.high)
    if column.kind == "categorical":
        return column.width == 1 and not any(numbers) and _names(column.categories)
    fits = len(column.mean) == len(column.scale) == len(column.middle) == column.width and not column.categories
    limited = len(column.low) == len(column.high) and len(column.low) in (0, column.width)
    return fits and limited and (column.width >= 1 if column.kind == "block" else column.width == 1)


def _column_bounded(column: ColumnSpec) -> bool:
    places = (*column.mean, *column.middle, *column.low, *column.high)
    if not all(_bounded(number) for number in places) or not all(_bounded(scale, SMALLEST) for scale in column.scale):
        return False
    ordered = all(low <= high for low, high in zip(column.low, column.high, strict=True))
    return ordered and _bounded(column.absence, 0.0)


def _label_exists(label: LabelSpec) -> bool:
    if label.coordinates not in _COORDINATES.get(label.kind, ()):
        return False
    short = all(len(name) <= LONGEST_CLASS for name in label.classes if isinstance(name, str))
    return _names(label.classes) and short and (label.kind == "classes" or not label.classes)


def _names(names: tuple[object, ...]) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _bounded(number: object, least: float = -LARGEST) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and least <= number <= LARGEST


def _orthonormal(directions: NDArray[np.float64], columns: tuple[ColumnSpec, ...]) -> bool:
    width = sum(column.coordinates for column in columns)
    if directions.ndim != 2 or directions.shape[1] != width or not 1 <= len(directions) <= width:
        return False
    if np.abs(directions).max() > 1.0 + _ROUNDING:
        return False
    return bool(np.abs(directions @ directions.T - np.eye(len(directions))).max() <= _ROUNDING)


def _metric(matrix: NDArray[np.float64], width: int) -> bool:
    """Symmetric, and with eigenvalues that lie neither far out nor far apart."""
    if matrix.shape != (width, width) or np.abs(matrix).max() > _LARGEST_METRIC:
        return False
    size = float(np.sqrt((matrix**2).sum()))
    if size < 1.0 / _LARGEST_METRIC or np.abs(matrix - matrix.T).max() > _ROUNDING * size:
        return False
    try:
        np.linalg.cholesky(matrix / size - np.eye(width) / _MOST_STRETCH)
    except np.linalg.LinAlgError:
        return False
    return True
