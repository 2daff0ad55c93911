"""The objects in which people already hold their rows, each family in a file of its own, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.alike import Reader, read_alike
from fedbary.data.columns import naming
from fedbary.data.formats.cells import Cells, without_column
from fedbary.data.frames import require_column
from fedbary.data.objects.encodable import encodable, encoded_table
from fedbary.data.objects.held import Held, check_type, clients_in, held
from fedbary.data.objects.huggingface import OF_CLIENTS, OF_REFERENCE
from fedbary.data.options import ReadOptions
from fedbary.data.persons import persons_if_there
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_table", "check_types", "client_tables", "clients_in", "private_table", "reference_table"]


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
    """
    with naming(_place(name) if name else ""):
        table = _table(held(data, splits), label, likely, options, reading)
    return table.replace(origin=name) if name else table


def private_table(data: Any, *, label: str | None, options: ReadOptions | None, reading: Reading | None) -> Table:
    """An owner's table for an answer with ε: files and frames are read as was agreed, whatever their cells hold.

    Arrays have no cells that could be read in two ways, and a `Table` is taken as its owner has read it.
    """
    from fedbary.data.any_cells import read_any_cells, table_of_any_cells

    rows, asked = held(data, alone=True).rows, options or ReadOptions()
    if isinstance(rows, tuple):
        rows = _one_frame(*rows, label or "label")
    if isinstance(rows, Table | tuple):
        return as_table(rows, label=label, options=options, reading=reading)
    name = label or "label"
    if isinstance(rows, str | PathLike):
        return read_any_cells(rows, name, options=asked, reading=reading)
    return table_of_any_cells(rows.frame, name, options=asked, reading=reading)


def _one_frame(X: Any, y: Any, label: str) -> Cells | tuple[Any, Any]:
    """A frame and its labels in one; what is no such pair as it is."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame) or label in X.columns or np.shape(y) != (len(X),):
        return X, y
    whole = X.reset_index(drop=True)
    whole[label] = pd.Series(y).array
    return Cells(whole)


def reference_table(data: Any, *, label: str | None = None, options: ReadOptions | None = None) -> Table:
    """The validation rows; what is wrong with them is said of the reference."""
    with naming("reference"):
        table = persons_if_there(lambda asked: as_table(data, label=label, options=asked, splits=OF_REFERENCE), options)
    return table if table.origin else table.replace(origin="reference")


def client_tables(
    clients: Mapping[str, Any],
    reference: Table | None,
    *,
    label: str | None = None,
    options: ReadOptions | None = None,
) -> dict[str, Table | FedbaryError]:
    """Each client's table, or why it cannot be used, so that the others go on.

    Columns are read as those of the reference; where it does not say how, as most clients read them.
    """
    likely, agreed = (None, None) if reference is None else (reference.label_name, reference.reading)
    readers = {
        str(name): _reader(data, label, likely, options)
        for name, data in clients.items()
        if not isinstance(data, FedbaryError)
    }
    read = (
        {name: _read(reader, agreed) for name, reader in readers.items()} if agreed else read_alike(readers, "collect")
    )
    return {str(name): read.get(str(name), data) for name, data in clients.items()}


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
            check_type(data)


def _place(name: object) -> str:
    return f"client {str(name)!r}"


def _reader(data: Any, label: str | None, likely: str | None, options: ReadOptions | None) -> Reader:
    """What reads a client's rows by one agreement or another, and takes them out of their object once."""
    rows = cache(lambda: held(data))
    return lambda reading: _table(rows(), label, likely, options, reading)


def _read(reader: Reader, reading: Reading) -> Table | DataError:
    try:
        return reader(reading)
    except DataError as error:
        return error


def _table(
    data: Held, label: str | None, likely: str | None, options: ReadOptions | None, reading: Reading | None
) -> Table:
    rows = data.rows
    if isinstance(rows, Table):
        table = rows
    elif isinstance(rows, tuple):
        table = _of_pair(*rows, options or ReadOptions(), reading)
    elif isinstance(rows, str | PathLike):
        from fedbary.data.files import read

        table = read(rows, label or likely or "label", options=options, reading=reading)
    else:
        frame = rows.frame if options is None else without_column(rows.frame, options.client_column)
        found = label or _label_column(frame, [likely, "label", data.label])
        require_column([str(column) for column in frame.columns], found, role="label")
        table = Table.from_frame(frame, found, options=options, reading=reading)
        guessed = () if found in (label, likely, "label") else (Note("data.label-guessed", {"column": found}),)
        table = table.replace(notes=(*rows.notes, *guessed, *table.notes))
    if len(table) == 0:
        raise DataError("data.no-rows")
    return table


def _of_pair(X: Any, y: Any, options: ReadOptions, reading: Reading | None) -> Table:
    kind = encodable(X, options, reading)
    if kind is not None:
        return encoded_table(X, y, kind, options, reading)
    return Table.from_arrays(X, y, options=options, reading=reading)


def _label_column(cells: pd.DataFrame, likely: Sequence[str | None]) -> str:
    names = tuple(str(column) for column in cells.columns)
    found = next((column for column in likely if column in names), None)
    if found is None:
        raise DataError("data.frame-without-label", label=next(filter(None, likely)), names=names)
    return found
