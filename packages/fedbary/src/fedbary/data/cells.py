"""The cells of a column of pandas or Arrow, of any type, in the few forms that columns are read from."""

from __future__ import annotations

import datetime
import decimal
import numbers
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedbary.columns import Column, Image
from fedbary.columns.arrays import ACCEPTED, Array, block_dtype
from fedbary.columns.column import VECTORS, ColumnCells, TextCells, distinct, stripped, written
from fedbary.data.formats.text_files import PER_CELL
from fedbary.errors import DataError
from fedbary.wording import shown_cell

if TYPE_CHECKING:
    import pandas as pd


def cells_of(name: str, series: pd.Series[Any]) -> ColumnCells:
    """The cells of a pandas column of any dtype."""
    import pandas as pd

    types, dtype = pd.api.types, series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        declared: Literal["ordered", "category"] = "ordered" if dtype.ordered else "category"
        levels = [written(level) for level in dtype.categories]
        return stripped(levels, series.cat.codes.to_numpy().astype(np.intp), declared)
    if types.is_bool_dtype(dtype) and series.notna().all():
        return series.to_numpy(dtype=bool)
    if isinstance(dtype, pd.StringDtype) or types.is_bool_dtype(dtype):
        return distinct(series if isinstance(dtype, pd.StringDtype) else series.astype("string"))
    if types.is_timedelta64_dtype(dtype) or (types.is_numeric_dtype(dtype) and dtype.kind != "c"):
        return _numbers(series)
    if types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return _moments(series)
    return _of_objects(name, series.astype(object))


# Objects that say the same as their text.
_SAID = (str, bool, np.bool_, numbers.Real, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)


def _of_objects(name: str, series: pd.Series[Any]) -> ColumnCells:
    """Look at the values themselves where the dtype says nothing about them."""
    import pandas as pd

    present = series.notna().to_numpy()
    objects = series.to_numpy(dtype=object)
    values = objects[present]
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in {"string", "empty"}:
        return distinct(series)
    if inferred == "boolean" and present.all():
        return objects.astype(bool)
    if inferred in {"integer", "floating", "mixed-integer-float", "decimal"}:
        found = np.full(len(objects), np.nan)
        found[present] = [_as_float(value) for value in values]
        return found
    if inferred in {"datetime", "datetime64", "date"}:
        return _moments(pd.Series(pd.to_datetime(series, utc=True, errors="coerce")))
    if any(isinstance(value, (*VECTORS, bytes)) or is_image(value) for value in values[:1]):
        objects = objects.copy()
        objects[~present] = None
        return objects
    if (foreign := next((value for value in values if not isinstance(value, _SAID)), None)) is not None:
        raise DataError(
            "data.foreign-values", column=name, kind=inferred, example=shown_cell(foreign), expected=ACCEPTED
        )
    return _as_texts(objects)


def any_cells_of(series: pd.Series[Any], column: Column) -> ColumnCells:
    """Cells for a kind that is known, whatever single ones hold: what is no number, moment or text is missing."""
    cells = plain_cells(series)
    if cells.dtype.kind == "m":
        return np.asarray(cells / np.timedelta64(1, "D"))
    if cells.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return cells.astype(np.float64)
    if cells.dtype.kind in "biuM":
        return cells
    if column.of_objects:
        return np.fromiter((value if _may_be(value, column) else None for value in cells), dtype=object)
    return _as_texts(cells)


def plain_cells(series: pd.Series[Any]) -> Array:
    """The cells of a column of any dtype: numbers, moments in UTC, lengths of time, or objects; no cell raises."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        return _of_our_time(any_array(series.array.__arrow_array__()))
    if isinstance(dtype, pd.CategoricalDtype):
        levels = plain_cells(pd.Series(dtype.categories)).tolist()
        return np.fromiter([*levels, None], dtype=object)[series.cat.codes]  # the code of a missing cell is −1
    if isinstance(dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    plain = isinstance(series.dtype, np.dtype) and series.dtype.kind in "biufmM"
    return _of_our_time(series.to_numpy() if plain else series.to_numpy(dtype=object))


def any_text(value: Any) -> str | None:
    """What a cell of any type says, as text that reads like it; None where it says nothing, or raises."""
    import pandas as pd

    try:
        if isinstance(value, pd.Period):
            value = value.to_timestamp()
        if isinstance(value, pd.Timestamp):
            value = value.to_pydatetime(warn=False)
        elif isinstance(value, pd.Timedelta):
            value = value.to_pytimedelta()
        elif isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if not isinstance(value, _SAID) or value != value:  # noqa: PLR0124 - neither NaN nor NaT is itself
            return None
        return str.__str__(written(value))
    except Exception:  # an object may raise anything where it is looked at
        return None


def _may_be(value: Any, column: Column) -> bool:
    try:
        return isinstance(value, (*VECTORS, bytes, dict)) or (isinstance(column, Image) and is_image(value))
    except Exception:
        return False


# Python's own years, and as many days: NumPy takes others for them where there is no room for microseconds.
_YEARS, _MOST_DAYS = (np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59")), 3_652_059


def _of_our_time(cells: Array) -> Array:
    """Moments and lengths of time in microseconds, missing where they are beyond Python's; others as they are."""
    if cells.dtype.kind not in "mM":
        return cells
    unit = np.datetime_data(cells.dtype)[0]
    if unit != "ns":  # which has room for some centuries alone
        moments = cells.dtype.kind == "M"
        edges = _YEARS if moments else (np.timedelta64(-_MOST_DAYS, "D"), np.timedelta64(_MOST_DAYS, "D"))
        low, high = (edge.astype(cells.dtype) for edge in edges)
        cells = np.where((cells < low) | (cells > high), np.array("NaT", cells.dtype), cells)
    return cells.astype(f"{cells.dtype.kind}8[us]")


def _as_texts(objects: Array) -> TextCells:
    return distinct(np.fromiter(map(any_text, objects), dtype=object))


def is_image(value: object) -> bool:
    """Whether an object is an image as data sets hold it."""
    if isinstance(value, dict):
        return bool(value) and value.keys() <= {"bytes", "path"}
    return isinstance(value, bytes) or type(value).__module__.partition(".")[0] == "PIL"


def _numbers(series: pd.Series[Any]) -> Array:
    """Whole numbers stay whole: as floats large ones would lose their last digits. Lengths of time are in days."""
    if series.dtype.kind == "m":
        return np.asarray(series.to_numpy(dtype="timedelta64[us]") / np.timedelta64(1, "D"))
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return series.to_numpy()
    if series.dtype.kind in "iu" and series.notna().all():
        return series.to_numpy(dtype=np.uint64 if series.dtype.kind == "u" else np.int64)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _moments(series: pd.Series[Any]) -> Array:
    import pandas as pd

    if isinstance(series.dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
    if isinstance(series.dtype, pd.ArrowDtype):
        series = series.astype("datetime64[us]" if series.dt.tz is None else "datetime64[us, UTC]")
    if series.dt.tz is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return series.to_numpy(dtype="datetime64[us]")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # Python's whole numbers have no end
        return float("inf")


def cells_of_arrow(name: str, column: Any) -> ColumnCells:
    """The cells of a chunked array, as `cells_of` gives those of the pandas column that it would become."""
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
        texts = (None if cell is None else cell.decode("utf-8", PER_CELL) for cell in column.to_pylist())
        return np.fromiter(texts, dtype=object, count=len(column))
    return np.fromiter(map(_as_python, column), dtype=object, count=len(column))


def _as_python(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # Python has no such date, length of time or zone
        return None


def matrix_of(column: Any) -> Array | None:
    """Lists of numbers one under another, a missing one as a row of NaN; None unless all are of one length."""
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
