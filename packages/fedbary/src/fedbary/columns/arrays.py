"""What one column of a table may hold, and how an array becomes one.

A column is an array of one of four kinds: ``number`` (float64, NaN = missing), ``bool``, ``text``
(object of str, None = missing) or ``block`` (rows × width floats, such as an embedding or an image).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fedbary.errors import DataError

Array: TypeAlias = npt.NDArray[Any]
Kind: TypeAlias = Literal["number", "bool", "text", "block"]

# No measured quantity is larger, and sums of squares of larger numbers are infinite.
LARGEST = 1e100
# Whole numbers stored as floats count as classes up to this many different values.
_FEW_CLASSES = 20
ACCEPTED = "numbers, booleans, text or vectors of one length"


def kind_of(column: Array) -> Kind:
    """Name the kind of a column."""
    if column.ndim == 2:
        return "block"
    return cast(Kind, {"b": "bool", "f": "number"}.get(column.dtype.kind, "text"))


def holds_classes(labels: Array) -> bool:
    """Whether labels are classes: text, booleans and whole numbers are; floats only if they are whole and few."""
    if labels.dtype.kind != "f":
        return True
    distinct = np.unique(labels)
    return bool(np.all(distinct == np.round(distinct))) and len(distinct) <= _FEW_CLASSES


def missing_rows(column: Array) -> npt.NDArray[np.bool_]:
    """Mark the rows in which a column has no value (in a block: lacks at least one coordinate)."""
    match kind_of(column):
        case "number":
            return np.isnan(column)
        case "block":
            return cast(npt.NDArray[np.bool_], np.isnan(column).any(axis=1))
        case "text":
            import pandas as pd

            return np.asarray(pd.isna(column))
        case "bool":
            return np.zeros(len(column), dtype=bool)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Put the file's or client's name before the message of a DataError raised inside."""
    try:
        yield
    except DataError as error:
        raise error.at(place) from error.__cause__


def as_column(name: str, values: npt.ArrayLike) -> Array:
    """Bring an array to one of the four kinds, without a copy when it already is."""
    array = np.asarray(values)
    if array.ndim == 2 and array.dtype.kind in "biuf":
        array = array.astype(block_dtype(array.dtype), copy=False)
    elif array.ndim == 1 and array.dtype.kind in "iuf":
        array = array.astype(np.float64, copy=False)
    elif array.ndim == 1 and array.dtype.kind in "OUT":
        array = _as_text(name, array)
    elif array.ndim != 1 or array.dtype.kind != "b":
        raise DataError(
            "data.column-shape", column=name, dimensions=array.ndim, kind=str(array.dtype), expected=ACCEPTED
        )
    refuse_infinite(name, array)
    return array


def as_labels(name: str, values: npt.ArrayLike) -> Array:
    """Check labels: one for each row, none missing, numbers or text."""
    import pandas as pd

    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError("data.labels-shape", name=name, shape=str(array.shape))
    missing = int(np.count_nonzero(pd.isna(array)))
    if missing:
        raise DataError("data.labels-missing", name=name, missing=missing, rows=len(array))
    if array.dtype.kind in "OUT":
        return _as_text(name, array)
    if array.dtype.kind not in "biuf":
        raise DataError("data.labels-kind", name=name, kind=str(array.dtype))
    refuse_infinite(name, array)
    return array


def as_ids(name: str, values: npt.ArrayLike) -> Array:
    """Check row ids: one for each row, none missing, none twice."""
    import pandas as pd

    ids = np.asarray(values)
    if ids.ndim != 1:
        raise DataError("data.ids-shape", name=name, shape=str(ids.shape))
    if ids.dtype.kind in "UT":
        ids = ids.astype(object)
    missing = int(np.count_nonzero(pd.isna(ids)))
    if missing:
        raise DataError("data.ids-missing", name=name, missing=missing)
    repeated = pd.Series(ids).duplicated().to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        raise DataError("data.ids-repeat", name=name, count=int(repeated.sum()), example=str(ids[row]), row=row)
    return ids


def columns_from_array(X: Any, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Turn an array of features into one block ``x``, or into named columns."""
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError("data.ragged") from error
    if array.ndim < 2:
        raise DataError("data.array-shape", shape=str(array.shape))
    if array.dtype.kind not in "biuf":
        raise DataError("data.array-kind", kind=str(array.dtype))
    if names is None:
        width = int(np.prod(array.shape[1:]))
        if width == 0:
            raise DataError("data.array-without-features", shape=str(array.shape))
        return {"x": as_column("x", array.reshape(len(array), width))}
    if array.ndim != 2 or len(names) != array.shape[1] or len(set(names)) != len(names):
        raise DataError("data.array-names", names=len(set(names)), shape=str(array.shape))
    return {str(name): as_column(str(name), array[:, k]) for k, name in enumerate(names)}


def check_layout(features: dict[str, Array], others: dict[str, Array]) -> None:
    """Raise a DataError unless features, ids and labels have one length and names of their own."""
    if not features:
        raise DataError("data.no-features", others=str(list(others)))
    for name in others:
        if name in features:
            raise DataError("data.two-roles", column=name)
    *_, labels = others.values()
    for name, column in (features | others).items():
        if len(column) != len(labels):
            raise DataError("data.lengths-differ", column=name, rows=len(column), labels=len(labels))


def block_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Choose the float type of a block: float32 where it holds the values exactly, else float64."""
    wide = np.result_type(dtype, np.float32)
    return wide if wide.itemsize <= 8 else np.dtype(np.float64)


def is_beyond(numbers: Array) -> bool:
    """Whether some number is infinite, or one that nothing measures."""
    if not numbers.size:
        return False
    # The two ends say it without an array as large as the block itself; fmax and fmin pass over NaN.
    low, high = float(np.fmin.reduce(numbers, axis=None)), float(np.fmax.reduce(numbers, axis=None))
    return low < -LARGEST or high > LARGEST


def measured(numbers: Array, unread: Array) -> tuple[Array, Array]:
    """Numbers without those that nothing measures, which could not be read: infinite ones, and such as square to it."""
    if not is_beyond(numbers):
        return numbers, unread
    beyond = np.abs(numbers) > LARGEST
    return np.where(beyond, np.nan, numbers), unread | beyond


def refuse_infinite(name: str, column: Array) -> None:
    """Raise a DataError where a numeric column holds ±inf, or numbers whose squares would be infinite."""
    if column.dtype.kind != "f" or not is_beyond(column):
        return
    infinite = int(np.count_nonzero(np.isinf(column)))
    count = infinite or int(np.count_nonzero(np.abs(column) > LARGEST))
    raise DataError(
        "data.no-finite-number",
        column=name,
        count=int(count),
        infinite="infinite " if infinite else "",
        beyond=None if infinite else LARGEST,
    )


def _as_text(name: str, array: Array) -> Array:
    import pandas as pd

    if array.dtype.kind == "O" and pd.api.types.infer_dtype(array, skipna=False) == "string":
        return array  # nothing is missing
    inferred = pd.api.types.infer_dtype(array, skipna=True)
    if inferred not in {"string", "empty"}:
        raise DataError("data.object-array", column=name, kind=inferred, expected=ACCEPTED)
    text = array.astype(object, copy=False)
    missing = pd.isna(text)
    if missing.any():
        text = text.copy()
        text[missing] = None
    return text
