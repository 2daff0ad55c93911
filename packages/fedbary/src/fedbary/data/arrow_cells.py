"""The cells of a column as Arrow holds it: what has a type becomes an array at once, the rest goes through pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.column_cells import ColumnCells, cells_of
from fedbary.data.columns import Array, block_dtype

if TYPE_CHECKING:
    import pandas as pd


def cells_of_arrow(name: str, column: Any) -> ColumnCells:
    """The cells of a chunked array, as `cells_of` gives those of the pandas column that it would become.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells_of_arrow("age", pa.chunked_array([[31.5, None]]))
    array([31.5,  nan])
    """
    from pyarrow import types

    kind = column.type
    if types.is_floating(kind):
        return _array(column).astype(np.float64, copy=False)
    if types.is_integer(kind) or (types.is_boolean(kind) and not column.null_count):
        return _array(column)
    if types.is_timestamp(kind) or types.is_date(kind):
        return _array(column).astype("datetime64[us]")
    return cells_of(name, pandas_column(column))


def matrix_of(column: Any) -> Array | None:
    """Lists of numbers one under another, a missing one as a row of NaN; None unless all are of one length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix_of(pa.chunked_array([[[1.0, 2.0], None]])).tolist()
    [[1.0, 2.0], [nan, nan]]
    """
    import pyarrow.compute as pc

    if not _holds_lists(column.type):
        return None
    ends = pc.min_max(pc.list_value_length(column)).as_py()
    width = ends["min"]
    if not width or width != ends["max"]:
        return None
    values = _array(pc.list_flatten(column)).reshape(-1, width)
    values = values.astype(block_dtype(values.dtype), copy=False)
    if not column.null_count:
        return values
    matrix = np.full((len(column), width), np.nan, dtype=values.dtype)
    matrix[column.is_valid().to_numpy()] = values
    return matrix


def pandas_column(column: Any) -> pd.Series[Any]:
    """A chunked array as the column that it is in the frame of its file."""
    import pyarrow as pa

    frame: pd.DataFrame = pa.table({"cells": column}).to_pandas()
    return frame["cells"]


def _array(column: Any) -> Array:
    """Whole numbers become floats where a cell is missing; one chunk of numbers stays where it is in memory."""
    if column.num_chunks == 1:
        return np.asarray(column.chunk(0).to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy())


def _holds_lists(kind: Any) -> bool:
    from pyarrow import types

    lists = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    return bool(lists and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))
