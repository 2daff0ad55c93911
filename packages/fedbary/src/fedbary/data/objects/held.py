"""`held`: what holds a client's rows, brought to one of the forms that can be read again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeAlias

from fedbary.data.formats.cells import Cells, OwnedRows
from fedbary.data.objects.features import features_of, is_features, is_labels, labels_of
from fedbary.data.objects.frames import frame_cells, is_frame
from fedbary.data.objects.huggingface import OF_CLIENTS, class_label, dataset_cells, is_huggingface
from fedbary.data.objects.torch_data import is_torch_data, torch_rows
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError

Rows: TypeAlias = "Table | str | PathLike[str] | tuple[Any, Any] | Cells"


@dataclass(frozen=True)
class Held:
    """Rows as a table, a path, a pair ``(X, y)`` or the cells of a frame, and the label that a data set names."""

    rows: Rows
    label: str | None = None


def held(data: Any, splits: Sequence[str] = OF_CLIENTS, *, alone: bool = False) -> Held:
    """Take the rows out of an object of another library; a stream is gone through once."""
    if isinstance(data, Held):
        return data
    check_type(data)
    if is_huggingface(data):
        return Held(dataset_cells(data, splits), class_label(data))
    if is_torch_data(data):
        data = torch_rows(data)
    if _is_pair(data):
        X, y = data
        return Held((features_of(X), labels_of(y)))
    return Held(data if isinstance(data, Table) or _is_path(data) else Cells(frame_cells(data, alone=alone)))


def clients_in(data: Any, column: str) -> dict[str, Held]:
    """The clients whose rows stand in one frame or data set, where a column says whose each row is.

    Examples
    --------
    >>> import pandas as pd
    >>> list(clients_in(pd.DataFrame({"site": ["oslo", "bergen", "oslo"], "age": [31, 45, 60]}), "site"))
    ['oslo', 'bergen']
    """
    whole = held(data)
    if not isinstance(whole.rows, Cells):
        raise DataError("data.not-a-frame", kind=type(data).__name__, column=column)
    owned = OwnedRows.of(whole.rows, column)
    return {name: Held(owned.cells(name), whole.label) for name in owned.names}


def check_type(data: Any) -> None:
    """Raise a DataError where an object is of a type that holds no rows; nothing is read for that.

    Examples
    --------
    >>> check_type(({"age": [31]}, [0]))
    Traceback (most recent call last):
    fedbary.errors.DataError: X of the pair (X, y) is a dict; expected ...
    """
    if isinstance(data, Table | Held | FedbaryError) or _is_path(data) or is_huggingface(data) or is_torch_data(data):
        return
    if _is_pair(data):
        X, y = data
        if not is_features(X):
            raise DataError("data.not-features", kind=type(X).__name__)
        if not is_labels(y):
            raise DataError("data.not-labels", kind=type(y).__name__)
    elif not is_frame(data):
        raise DataError("data.not-a-table", kind=type(data).__name__)


def _is_pair(data: object) -> bool:
    return isinstance(data, tuple | list) and len(data) == 2


def _is_path(data: object) -> bool:
    return isinstance(data, str | PathLike)
