"""The objects in which people already hold their rows, each family in a file of its own, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbary.data.columns import naming
from fedbary.data.frames import require_column
from fedbary.data.objects.encodable import encodable, encoded_table
from fedbary.data.objects.families import is_pair, is_path
from fedbary.data.objects.features import features_of, is_features, is_labels, labels_of
from fedbary.data.objects.frames import frame_cells, is_frame
from fedbary.data.objects.huggingface import OF_CLIENTS, class_label, dataset_cells, is_huggingface
from fedbary.data.objects.torch_data import is_torch_data, torch_rows
from fedbary.data.options import ReadOptions
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError

if TYPE_CHECKING:
    import pandas as pd


def as_table(
    data: Any,
    *,
    name: str = "",
    label: str | None = None,
    likely: str | None = None,
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    splits: Sequence[str] = OF_CLIENTS,
) -> Table:
    """The table of whatever holds rows and labels.

    Parameters
    ----------
    data
        A `Table`; a frame of pandas, polars, pyarrow, DuckDB or any library that narwhals knows; a data set of Hugging
        Face; a data set or loader of torch; a pair ``(X, y)`` of arrays, sparse matrices, lists of texts or images, or
        a frame; or the path of a file.
    name
        The client whose rows they are.
    label
        The label column. Default: ``likely``, or else ``label``.
    likely
        What the label column is called elsewhere, such as in the reference.
    options, reading
        What is asked of reading, and how columns were agreed to be read.
    splits
        Which split of a dictionary of splits: the first of these that is there, or else the only one.

    Examples
    --------
    >>> as_table(([[1.0, 2.0]], [0]), name="clinic").origin
    'clinic'
    >>> import pyarrow as pa
    >>> as_table(pa.table({"age": [31, 45], "bought": ["yes", "no"]}), label="bought")
    Table(2 rows, 1 columns, label 'bought')
    """
    with naming(_place(name) if name else ""):
        if isinstance(data, Table):
            table = data
        elif is_path(data):
            table = _of_file(data, label or likely or "label", options, reading)
        elif is_huggingface(data):
            found = [likely, "label", class_label(data)]
            table = _of_frame(dataset_cells(data, splits), label, found, options, reading)
        elif is_torch_data(data):
            return as_table(torch_rows(data), name=name, label=label, likely=likely, options=options, reading=reading)
        elif is_pair(data):
            _check_type(data)
            table = _of_pair(*data, options=options, reading=reading)
        elif is_frame(data):
            table = _of_frame(frame_cells(data), label, [likely, "label"], options, reading)
        else:
            raise _foreign(data)
        if len(table) == 0:
            raise DataError("data.no-rows")
    return table.replace(origin=name) if name else table


def table_or_error(
    data: Any,
    *,
    label: str | None = None,
    likely: str | None = None,
    options: ReadOptions | None = None,
    reading: Reading | None = None,
) -> Table | FedbaryError:
    """A client's table, or the reason why it cannot be used, so that the others go on."""
    if isinstance(data, FedbaryError):
        return data
    try:
        return as_table(data, label=label, likely=likely, options=options, reading=reading)
    except FedbaryError as error:
        return error


def check_types(clients: Mapping[str, Any]) -> None:
    """Raise a DataError, with the client's name, where an object is of a type that holds no rows; reads nothing.

    Examples
    --------
    >>> check_types({"north": ([[1.0]], [0]), "south": 7})
    Traceback (most recent call last):
    fedbary.errors.DataError: client 'south': got int; expected ...
    """
    for name, data in clients.items():
        with naming(_place(name)):
            _check_type(data)


def _check_type(data: Any) -> None:
    if isinstance(data, Table | FedbaryError) or is_path(data) or is_huggingface(data) or is_torch_data(data):
        return
    if is_pair(data):
        X, y = data
        if not is_features(X):
            raise DataError("data.not-features", kind=_kind(X))
        if not is_labels(y):
            raise DataError("data.not-labels", kind=_kind(y))
    elif not is_frame(data):
        raise _foreign(data)


def _place(name: object) -> str:
    return f"client {str(name)!r}"


def _foreign(data: object) -> DataError:
    return DataError("data.not-a-table", kind=_kind(data))


def _kind(data: object) -> str:
    return type(data).__name__


def _of_file(path: Any, label: str, options: ReadOptions | None, reading: Reading | None) -> Table:
    from fedbary.data.files import read

    return read(path, label, options=options, reading=reading)


def _of_pair(X: Any, y: Any, *, options: ReadOptions | None, reading: Reading | None) -> Table:
    features, labels = features_of(X), labels_of(y)
    kind = encodable(features, options or ReadOptions())
    if kind is not None:
        return encoded_table(features, labels, kind, options or ReadOptions(), reading)
    return Table.from_arrays(features, labels, options=options, reading=reading)


def _of_frame(
    cells: pd.DataFrame,
    label: str | None,
    likely: Sequence[str | None],
    options: ReadOptions | None,
    reading: Reading | None,
) -> Table:
    names = [str(column) for column in cells.columns]
    if label is None:
        label = next((column for column in likely if column in names), None)
    else:
        require_column(names, label, role="label")
    if label is None:
        raise DataError("data.frame-without-label", label=next(filter(None, likely)), names=tuple(names))
    return Table.from_frame(cells, label, options=options, reading=reading)
