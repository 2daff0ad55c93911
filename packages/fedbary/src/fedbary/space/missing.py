"""Missing cells: how many there are, and the coordinates in which they are seen.

A missing number is imputed by the schema's ``middle``, which alone would bring a row nearer to everything. So missing
cells have coordinates of their own, the *marks*: one for every column that may lack cells, and, where
there is a reference, a last one for all others together: any point of the reference lies at 0 there, so the squared
distance is the same as if each of those columns had a mark of its own. Without a reference everybody says beforehand
which columns lack cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.cells import cell_numbers
from fedbary.space.schema import ColumnSpec, Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def missing_by_column(table: Table, schema: Schema) -> Integers:
    """Cells without a value, one line per row and one column per column of the schema."""
    found = np.zeros((len(table), len(schema.columns)), dtype=np.int64, order="F")
    for place, column in enumerate(schema.columns):
        missing = missing_of(table, column)
        if missing.any():
            found[:, place] = missing
    return found


def missing_of(table: Table, column: ColumnSpec) -> Integers:
    """Cells without a value in one column, for each row."""
    return _missing(table.columns[column.name], column)


def missing_coordinates(table: Table, schema: Schema) -> NDArray[np.bool_]:
    """Which coordinates of `fedbary.space.encode.encode` stand for cells without a value.

    Examples
    --------
    >>> import fedbary as fb
    >>> schema = fb.fit_schema(fb.Table({"age": [30.0, 50.0], "city": ["Rome", "Oslo"]}, ["a", "b"]), min_group=1)
    >>> missing_coordinates(fb.Table({"age": [np.nan, 40.0], "city": [None, "Rome"]}, ["a", "b"]), schema)
    array([[ True,  True,  True,  True],
           [False, False, False, False]])
    """
    holes = []
    for column in schema.columns:
        values = table.columns[column.name]
        if column.kind == "categorical":
            holes.append(np.repeat(_missing(values, column)[:, None] > 0, column.coordinates, axis=1))
        else:
            numbers = values if values.dtype.kind == "f" else cell_numbers(values)
            holes.append(np.isnan(numbers).reshape(len(values), column.width))
    return np.hstack(holes)


def marks(missing: Integers | Floats, schema: Schema) -> Floats:
    """The coordinates of `missing_by_column`, or of its means; none where the schema refuses missing values.

    A mark is the root of what the missing cells add to a squared distance, so that each adds the same. The arithmetic
    is elementwise: the marks of a row are a function of its own cells to the last bit.
    """
    coordinates = np.zeros((len(missing), schema.mark_width))
    if not schema.mark_width:
        return coordinates
    own = 0
    for place, column in enumerate(schema.columns):
        added = missing[:, place] * (column.absence / column.width)
        if column.may_lack:
            coordinates[:, own] = added
            own += 1
        elif schema.shared_mark:
            coordinates[:, -1] += added
    return np.sqrt(coordinates)


def _missing(values: NDArray[np.generic], column: ColumnSpec) -> Integers:
    if column.kind == "categorical":
        if values.dtype.kind == "O":
            import pandas as pd

            return np.asarray(pd.isna(values), dtype=np.int64)
        return np.isnan(cell_numbers(values)).astype(np.int64)
    numbers = values if values.dtype.kind == "f" else cell_numbers(values)
    return np.asarray(np.isnan(numbers).reshape(len(values), -1).sum(axis=1, dtype=np.int64))
