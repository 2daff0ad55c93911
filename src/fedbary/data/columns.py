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
_LARGEST = 1e100
# Whole numbers stored as floats count as classes up to this many different values.
_FEW_CLASSES = 20
ACCEPTED = "numbers, booleans, text or vectors of one length"


def kind_of(column: Array) -> Kind:
    """Name the kind of a column.

    Examples
    --------
    >>> kind_of(np.array([0.5, np.nan])), kind_of(np.zeros((2, 3)))
    ('number', 'block')
    """
    if column.ndim == 2:
        return "block"
    return cast(Kind, {"b": "bool", "f": "number"}.get(column.dtype.kind, "text"))


def holds_classes(labels: Array) -> bool:
    """Whether labels are classes: text, booleans and whole numbers are; floats only if they are whole and few.

    Examples
    --------
    >>> holds_classes(np.array([1.0, 2.0])), holds_classes(np.array([1.5, 2.0]))
    (True, False)
    """
    if labels.dtype.kind != "f":
        return True
    distinct = np.unique(labels)
    return bool(np.all(distinct == np.round(distinct))) and len(distinct) <= _FEW_CLASSES


def missing_rows(column: Array) -> npt.NDArray[np.bool_]:
    """Mark the rows in which a column has no value (in a block: lacks at least one coordinate).

    Examples
    --------
    >>> missing_rows(np.array(["a", None], dtype=object))
    array([False,  True])
    """
    match kind_of(column):
        case "number":
            return np.isnan(column)
        case "block":
            return cast(npt.NDArray[np.bool_], np.isnan(column).any(axis=1))
        case "text":
            return np.fromiter((value is None for value in column), dtype=bool, count=len(column))
        case "bool":
            return np.zeros(len(column), dtype=bool)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Put the file's or client's name before the message of a DataError raised inside.

    Examples
    --------
    >>> with naming("bank.csv"):
    ...     raise DataError("data.no-rows")
    Traceback (most recent call last):
    fedbary.errors.DataError: bank.csv: the table has no rows; expected at least one
    """
    try:
        yield
    except DataError as error:
        raise error.at(place) from error.__cause__


def as_column(name: str, values: npt.ArrayLike) -> Array:
    """Bring an array to one of the four kinds, without a copy when it already is.

    Examples
    --------
    >>> as_column("age", [31, 45])
    array([31., 45.])
    """
    array = np.asarray(values)
    if array.ndim == 2 and array.dtype.kind in "biuf":
        array = array.astype(block_dtype(array.dtype), copy=False)
    elif array.ndim == 1 and array.dtype.kind in "iuf":
        array = array.astype(np.float64, copy=False)
    elif array.ndim == 1 and array.dtype.kind in "OUT":
        array = _as_text(name, array)
    elif array.ndim != 1 or array.dtype.kind != "b":
        raise DataError(f"column {name!r} is a {array.ndim}-D array of {array.dtype}; expected {ACCEPTED}")
    refuse_infinite(name, array)
    return array


def as_labels(name: str, values: npt.ArrayLike) -> Array:
    """Check labels: one for each row, none missing, numbers or text.

    Examples
    --------
    >>> as_labels("label", ["cat", "dog"])
    array(['cat', 'dog'], dtype=object)
    """
    import pandas as pd

    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(
            f"the labels {name!r} have shape {array.shape}, but one label for each row is expected; "
            "turn one-hot labels into classes with y.argmax(axis=1)"
        )
    missing = int(np.count_nonzero(pd.isna(array)))
    if missing:
        raise DataError(
            f"the label column {name!r} is missing in {missing} of {len(array)} rows; "
            "drop these rows or fill in their labels"
        )
    if array.dtype.kind in "OUT":
        return _as_text(name, array)
    if array.dtype.kind not in "biuf":
        raise DataError(f"the label column {name!r} holds {array.dtype}; expected numbers, booleans or text")
    refuse_infinite(name, array)
    return array


def as_ids(name: str, values: npt.ArrayLike) -> Array:
    """Check row ids: one for each row, none missing, none twice.

    Examples
    --------
    >>> as_ids("patient", ["p1", "p2"])
    array(['p1', 'p2'], dtype=object)
    """
    import pandas as pd

    ids = np.asarray(values)
    if ids.ndim != 1:
        raise DataError(f"the ids {name!r} have shape {ids.shape}; expected one id for each row")
    if ids.dtype.kind in "UT":
        ids = ids.astype(object)
    missing = int(np.count_nonzero(pd.isna(ids)))
    if missing:
        raise DataError(f"the id column {name!r} is missing in {missing} rows; fill it in or leave out the id")
    repeated = pd.Series(ids).duplicated().to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        raise DataError("data.ids-repeat", name=name, count=int(repeated.sum()), example=str(ids[row]), row=row)
    return ids


def columns_from_array(X: Any, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Turn an array of features into one block ``x``, or into named columns.

    Examples
    --------
    >>> columns_from_array([[31, 2.5]], ["age", "income"])
    {'age': array([31.]), 'income': array([2.5])}
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise DataError("X is a sparse matrix; make it dense with X.toarray() or reduce it, e.g. by TruncatedSVD")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError("the rows of X do not have the same length; make them so") from error
    if array.ndim < 2:
        raise DataError(f"X has shape {array.shape}; expected rows × features: for one feature, X.reshape(-1, 1)")
    if array.dtype.kind not in "biuf":
        raise DataError(f"X is an array of {array.dtype}; expected numbers: pass text features in a DataFrame")
    if names is None:
        width = int(np.prod(array.shape[1:]))
        if width == 0:
            raise DataError(f"X has shape {array.shape} and so no features; expected at least one")
        return {"x": as_column("x", array.reshape(len(array), width))}
    if array.ndim != 2 or len(names) != array.shape[1] or len(set(names)) != len(names):
        raise DataError(f"{len(set(names))} distinct names came for X of shape {array.shape}; name each column once")
    return {str(name): as_column(str(name), array[:, k]) for k, name in enumerate(names)}


def check_layout(features: dict[str, Array], others: dict[str, Array]) -> None:
    """Raise a DataError unless features, ids and labels have one length and names of their own.

    Examples
    --------
    >>> check_layout({"age": np.zeros(2)}, {"label": np.zeros(3)})
    Traceback (most recent call last):
    fedbary.errors.DataError: column 'age' has 2 rows but there are 3 labels; pass one label for each row
    """
    if not features:
        raise DataError(f"there is no feature column besides {list(others)}; add at least one")
    for name in others:
        if name in features:
            raise DataError(f"{name!r} is a feature and also the label or id; drop that column or rename it")
    *_, labels = others.values()
    for name, column in (features | others).items():
        if len(column) != len(labels):
            raise DataError(
                f"column {name!r} has {len(column)} rows but there are {len(labels)} labels; "
                "pass one label for each row"
            )


def block_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Choose the float type of a block: float32 where it holds the values exactly, else float64.

    Examples
    --------
    >>> block_dtype(np.dtype("uint8")), block_dtype(np.dtype("int64"))
    (dtype('float32'), dtype('float64'))
    """
    wide = np.result_type(dtype, np.float32)
    return wide if wide.itemsize <= 8 else np.dtype(np.float64)


def refuse_infinite(name: str, column: Array) -> None:
    """Raise a DataError where a numeric column holds ±inf, or numbers whose squares would be infinite.

    Examples
    --------
    >>> refuse_infinite("age", np.array([1.0, np.inf]))
    Traceback (most recent call last):
    fedbary.errors.DataError: column 'age' has 1 infinite value; replace it by a number or leave it empty
    """
    if column.dtype.kind != "f" or not column.size:
        return
    # The two ends say it without an array as large as the block itself; fmax and fmin pass over NaN.
    ends = float(np.fmin.reduce(column, axis=None)), float(np.fmax.reduce(column, axis=None))
    if np.isnan(ends[0]) or max(-ends[0], ends[1]) <= _LARGEST:
        return
    infinite = int(np.count_nonzero(np.isinf(column)))
    count = infinite or int(np.count_nonzero(np.abs(column) > _LARGEST))
    many = count > 1
    raise DataError(
        f"column {name!r} has {count} {'infinite ' * bool(infinite)}value{'s' * many}"
        f"{'' if infinite else f' beyond {_LARGEST:g}'}; "
        f"replace {'them' if many else 'it'} by a number or leave {'them' if many else 'it'} empty"
    )


def _as_text(name: str, array: Array) -> Array:
    import pandas as pd

    inferred = pd.api.types.infer_dtype(array, skipna=True)
    if inferred not in {"string", "empty"}:
        raise DataError(f"column {name!r} is an object array of {inferred} values; expected {ACCEPTED}")
    text = array.astype(object, copy=False)
    missing = pd.isna(text)
    if missing.any():
        text = text.copy()
        text[missing] = None
    return text
