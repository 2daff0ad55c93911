"""How the columns of a DataFrame, whatever their dtype, become columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedbary.checks import did_you_mean
from fedbary.data.columns import ACCEPTED, Array, as_labels, block_dtype, refuse_infinite
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def columns_from_frame(frame: pd.DataFrame) -> dict[str, Array]:
    """Turn every column of a DataFrame into a column of one of the four kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> columns_from_frame(pd.DataFrame({"age": [31]}))
    {'age': array([31.])}
    """
    require_unique([str(name) for name in frame.columns])
    return {str(name): column_from_series(str(name), frame.iloc[:, k]) for k, name in enumerate(frame.columns)}


def column_from_series(name: str, series: pd.Series[Any]) -> Array:
    """Turn a pandas column of any dtype into a column of one of the four kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> column_from_series("age", pd.Series([31, None], dtype="Int64"))
    array([31., nan])
    """
    import pandas as pd

    types = pd.api.types
    present = series.notna().to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return texts([str(value) if there else None for value, there in zip(series, present, strict=True)])
    if types.is_bool_dtype(series.dtype) and present.all():
        return series.to_numpy(dtype=bool)
    # A bool array has no room for "missing": 0, 1 and NaN say the same.
    if types.is_numeric_dtype(series.dtype) and not types.is_complex_dtype(series.dtype):
        column = series.to_numpy(dtype=np.float64, na_value=np.nan)
        refuse_infinite(name, column)
        return column
    return _column_from_objects(name, series.astype(object), present)


def labels_from_series(name: str, series: pd.Series[Any]) -> Array:
    """Turn a pandas column into labels; whole numbers stay integers.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_from_series("label", pd.Series([3, 1], dtype=object))
    array([3, 1])
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.cat.categories.dtype if series.notna().all() else object)
    series = series.infer_objects()
    if series.isna().any():
        return as_labels(name, series.to_numpy(dtype=object))
    if pd.api.types.is_integer_dtype(series.dtype):
        beyond = int(series.max()) > np.iinfo(np.int64).max if len(series) else False  # these would become negative
        return np.asarray(series.to_numpy(dtype=np.uint64 if beyond else np.int64))
    return as_labels(name, column_from_series(name, series))


def labels_from_values(name: str, values: Any) -> Array:
    """Turn a Series, array or list into labels.

    Examples
    --------
    >>> labels_from_values("y", [True, False])
    array([ True, False])
    """
    import pandas as pd

    if not isinstance(values, pd.Series | list | tuple):
        values = np.asarray(values)
        if values.ndim != 1:
            values = as_labels(name, values)
    return labels_from_series(name, pd.Series(values))


def require_unique(names: Sequence[str]) -> None:
    """Raise a DataError where two columns have the same name.

    Examples
    --------
    >>> require_unique(["age", "age"])
    Traceback (most recent call last):
    fedbary.errors.DataError: the column name 'age' occurs more than once; rename or drop one of them
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError("data.column-twice", column=str(twice[0]))


def require_column(names: Sequence[str], wanted: str, *, role: str) -> None:
    """Raise a DataError, with the closest name, where a column is not there.

    Examples
    --------
    >>> require_column(["age", "label"], "lable", role="label")
    Traceback (most recent call last):
    fedbary.errors.DataError: there is no label column 'lable' (did you mean 'label'?); the 2 columns are ...
    """
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


def texts(values: list[str | None]) -> Array:
    """A column of texts, None where one is missing.

    Examples
    --------
    >>> texts(["a", None])
    array(['a', None], dtype=object)
    """
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _column_from_objects(name: str, series: pd.Series[Any], present: npt.NDArray[np.bool_]) -> Array:
    """Look at the values themselves where the dtype says nothing about them."""
    import pandas as pd

    objects = series.to_numpy(dtype=object)
    values = objects[present]
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in {"string", "empty"}:
        _refuse_half_numeric(name, series, present)
        return texts([value if there else None for value, there in zip(objects, present, strict=True)])
    if inferred == "boolean" and present.all():
        return objects.astype(bool)
    if inferred in {"boolean", "integer", "floating", "mixed-integer-float", "decimal"}:
        numbers = np.full(len(objects), np.nan)
        numbers[present] = [_as_float(value) for value in values]
        refuse_infinite(name, numbers)
        return numbers
    if isinstance(values[0], list | tuple | np.ndarray):
        return _block_from_objects(name, objects, present)
    if any(isinstance(value, str) for value in values):
        raise _mixed(name, series, present)
    raise DataError("data.foreign-values", column=name, kind=inferred, example=repr(values[0]), expected=ACCEPTED)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # Python's whole numbers have no end
        return float("inf")


def _block_from_objects(name: str, objects: Array, present: npt.NDArray[np.bool_]) -> Array:
    """Stack vectors, one a row; a missing vector becomes a row of NaN."""
    width = len(objects[present][0])
    for row, vector in zip(np.flatnonzero(present), objects[present], strict=True):
        if not isinstance(vector, list | tuple | np.ndarray) or len(vector) != width:
            found = f"{len(vector)} numbers" if hasattr(vector, "__len__") else repr(vector)
            raise DataError("data.vectors-differ", column=name, width=width, row=int(row), found=found)
    try:
        stacked = np.stack([np.asarray(vector) for vector in objects[present]])
        stacked = stacked.astype(block_dtype(stacked.dtype) if stacked.dtype.kind in "biuf" else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("data.vectors-not-numbers", column=name) from error
    if stacked.ndim != 2 or width == 0:
        raise DataError("data.vectors-shape", column=name, shape=str(stacked.shape[1:]))
    block = np.full((len(objects), width), np.nan, dtype=stacked.dtype)
    block[present] = stacked
    refuse_infinite(name, block)
    return block


def _refuse_half_numeric(name: str, series: pd.Series[Any], present: npt.NDArray[np.bool_]) -> None:
    numeric = _numeric(series)
    if present.sum() / 2 < numeric.sum() < present.sum():
        raise _mixed(name, series, present)


def _numeric(series: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    import pandas as pd

    return pd.to_numeric(series.astype(object), errors="coerce").notna().to_numpy(dtype=bool)


def _mixed(name: str, series: pd.Series[Any], present: npt.NDArray[np.bool_]) -> DataError:
    odd = present & ~_numeric(series)
    if not odd.any():
        odd = np.array([isinstance(value, str) for value in series])
    row = int(odd.argmax())
    return DataError("data.mixed-column", column=name, example=repr(series.iloc[row]), row=row)
