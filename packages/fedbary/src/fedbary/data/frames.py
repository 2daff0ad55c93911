"""Columns of a frame of pandas or Arrow, of any type: their cells, labels and roles, and the features they become."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fedbary.checks import did_you_mean
from fedbary.columns import Column, Dropped, Image
from fedbary.columns.arrays import ACCEPTED, Array, as_labels, block_dtype
from fedbary.columns.column import VECTORS, ColumnCells, TextCells, distinct, stripped, written
from fedbary.columns.number_texts import NumberTexts, numbers_of
from fedbary.data.formats.text_files import PER_CELL
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading, decide, left_out, read_columns, told_reading
from fedbary.errors import DataError
from fedbary.notes import Note
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


WITHOUT_LABEL = "data.rows-without-label"


def features_of(
    frame: pd.DataFrame, options: ReadOptions, agreed: Reading | None = None, others: Sequence[str] = ()
) -> tuple[dict[str, Array], Reading, tuple[Note, ...]]:
    """Turn the columns of a DataFrame into columns of a table: also how each was read, and notes on what was guessed.

    ``others`` are the columns that came beside them, the label and the id, which options may name, too; and so may they
    name what was agreed upon.
    """
    names = [str(name) for name in frame.columns]
    require_unique(names)
    told = told_reading(names, options, (*others, *(agreed or ())))
    cells: dict[str, ColumnCells] = {}
    foreign: list[DataError] = []
    for place, name in enumerate(names):
        try:
            if name not in told or not told[name].left_out:
                cells[name] = cells_of(name, frame.iloc[:, place])
        except DataError as error:
            foreign.append(error)
    if foreign and not cells:
        raise foreign[0]
    reading, guessed = decide(cells, options, told, agreed)
    beside = {name: column for name, column in reading.items() if name not in cells}
    beside |= {str(error.note.facts["column"]): Dropped() for error in foreign}
    used = Reading({name: column for name, column in reading.items() if name in cells})
    columns, stated, encoded = read_columns(cells, used, encoder=options.encoder)
    require_unique(stated.columns())
    return columns, Reading({**stated, **beside}), (*guessed, *map(left_out, foreign), *encoded)


def labelled(name: str, labels: pd.Series[Any]) -> tuple[pd.Series[Any], npt.NDArray[np.intp] | None, tuple[Note, ...]]:
    """The labels that are there, at which positions, None where all are, and a note that other rows are left out."""
    import pandas as pd

    empty = labels.isna().to_numpy(dtype=bool)
    if labels.dtype.kind not in "biufM":
        empty = empty | np.array([isinstance(cell, str) and not cell.strip() for cell in labels], dtype=bool)
    missing = int(empty.sum())
    if not missing:
        return labels, None, ()
    if missing == len(labels):
        raise DataError("data.labels-missing", name=name, missing=missing, rows=missing)
    there = labels[~empty].infer_objects()
    if there.dtype.kind == "f" and not (there % 1).any():  # whole numbers became floats for want of a missing one
        there = there.astype(np.int64)
    note = Note(WITHOUT_LABEL, {"label": name, "count": missing, "rows": len(labels)})
    return pd.Series(there), np.flatnonzero(~empty), (note,)


def labels_from_series(name: str, series: pd.Series[Any], decimal: str = "") -> Array:
    """Turn a pandas column into labels: whole numbers stay integers, classes lose blanks around them."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype if series.notna().all() else object)
    series = series.infer_objects()
    if series.isna().any():
        return as_labels(name, series.to_numpy(dtype=object))
    if pd.api.types.is_integer_dtype(series.dtype):
        beyond = int(series.max()) > np.iinfo(np.int64).max if len(series) else False  # these would become negative
        return np.asarray(series.to_numpy(dtype=np.uint64 if beyond else np.int64))
    cells = cells_of(name, series)
    if isinstance(cells, TextCells):
        return as_labels(name, _label_texts(name, series, cells, decimal))
    if cells.dtype.kind not in "biuf":
        kind = "datetime" if cells.dtype.kind == "M" else "mixed"
        raise DataError(
            "data.foreign-values", column=name, kind=kind, example=shown_cell(series.iloc[0]), expected=ACCEPTED
        )
    return as_labels(name, cells)


def label_names(levels: Sequence[str], decimal: str) -> list[str]:
    """Classes as they are called, and numbers with a decimal comma as Python writes them; each by itself."""
    numbers = numbers_of(levels, decimal)
    return [
        repr(float(number)) if "," in level and not np.isnan(number) else level
        for level, number in zip(levels, numbers, strict=True)
    ]


def _label_texts(name: str, series: pd.Series[Any], cells: TextCells, decimal: str) -> Array:
    """Classes; or numbers where some have a decimal comma and all are numbers."""
    if any("," in level for level in cells.levels):
        names = label_names(cells.levels, decimal)
        if not np.isnan(numbers_of(cells.levels, decimal or ",")).any():
            if "," in "".join(names):
                raise DataError("data.decimal-unclear", column=name, example=next(one for one in names if "," in one))
            return cells.spread(numbers_of(names, "."), np.nan)
        return cells.spread(texts(names), None)
    _refuse_mixed(name, series, cells)
    return cells.spread(texts(list(cells.levels)), None)


def labels_as_series(name: str, values: Any) -> pd.Series[Any]:
    """A Series, array or list of labels as a Series, each label in a row of its own."""
    import pandas as pd

    if not isinstance(values, pd.Series | list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            values = as_labels(name, values)
    return pd.Series(values)


def require_unique(names: Sequence[str]) -> None:
    """Raise a DataError where two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError("data.column-twice", column=str(twice[0]))


def require_column(names: Sequence[str], wanted: str, *, role: str) -> None:
    """Raise a DataError, with the closest name, where a column is not there."""
    if wanted in names:
        return
    raise DataError(
        "data.no-such-column",
        role=role,
        wanted=wanted,
        guess=did_you_mean(wanted, names),
        columns=len(names),
        names=tuple(map(str, names)),
    )


def with_index(frame: pd.DataFrame, *wanted: str | None) -> pd.DataFrame:
    """A frame with its index as columns, where one of these is there and no column is called so."""
    missed = [name for name in wanted if name is not None and name not in frame.columns and name in frame.index.names]
    return frame.reset_index() if missed else frame


def check_roles(names: Sequence[str], label: str, id: str | None, person: str | None) -> list[str]:  # noqa: A002
    """Raise a DataError unless the columns of these roles are there, and neither id nor person is the label.

    Returns the columns that are no features.
    """
    require_column(names, label, role="label")
    for role, wanted in (("id", id), ("person", person)):
        if wanted is not None:
            require_column(names, wanted, role=role)
            if wanted == label:
                raise DataError("data.label-is-id", column=wanted, role=role)
    return list(dict.fromkeys(name for name in (label, id, person) if name is not None))


def texts(values: Sequence[str | None]) -> Array:
    """A column of texts, None where one is missing."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _refuse_mixed(name: str, series: pd.Series[Any], cells: TextCells) -> None:
    """Texts of which most are numbers, or texts and numbers: some of them are wrong."""
    import pandas as pd

    numeric = NumberTexts.of(cells.arrow).points
    share = cells.counts()[numeric].sum() / max(cells.present, 1)
    inferred = "string" if isinstance(series.dtype, pd.StringDtype) else pd.api.types.infer_dtype(series, skipna=True)
    only_texts = inferred in ("string", "empty")
    if only_texts and not 0.5 < share < 1:
        return
    values = series.to_numpy(dtype=object)
    odd = cells.spread(~numeric, False) if not numeric.all() else np.array([isinstance(cell, str) for cell in values])
    row = int(odd.argmax())
    raise DataError("data.mixed-column", column=name, example=shown_cell(values[row]), row=row, kinds="numbers")
