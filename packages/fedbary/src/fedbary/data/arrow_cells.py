"""The cells of a column as Arrow holds it: what has a type becomes an array at once, the rest goes cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.columns.arrays import Array, block_dtype
from fedbary.columns.cells import ColumnCells
from fedbary.data.column_cells import cells_of
from fedbary.data.formats.text_files import PER_CELL

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


def any_array(column: Any) -> Array:
    """The cells of a column of any type as numbers, moments, lengths of time or objects; what Python lacks is None.

    Whole numbers beside a missing one are objects: as floats large ones would lose digits. A text that is not UTF-8 is
    read as one of Windows, as in a file of texts.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_temporal(kind) and not types.is_time(kind) and kind != pa.month_day_nano_interval():
        return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or _holds_lists(kind):
        return np.asarray(column.to_pandas(integer_object_nulls=True))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        column = column.cast(pa.large_binary())
        return np.fromiter((_decoded(cell) for cell in column.to_pylist()), dtype=object, count=len(column))
    return np.fromiter(map(_as_python, column), dtype=object, count=len(column))


def _decoded(cell: bytes | None) -> str | None:
    return None if cell is None else cell.decode("utf-8", PER_CELL)


def _as_python(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # Python has no such date, length of time or zone
        return None


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
