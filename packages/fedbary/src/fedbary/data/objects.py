"""The objects in which people already hold their rows (`fedbary.data.adapters`) as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from os import PathLike
from typing import Any

import numpy as np

from fedbary.columns import Encoded, Image, Text
from fedbary.columns.arrays import naming
from fedbary.data.adapters import OF_CLIENTS, OF_REFERENCE, RowSource, adapter_of, clients_in, row_source
from fedbary.data.encoders import CellKind, encoded, is_image, suits
from fedbary.data.files import Reader, read_alike
from fedbary.data.formats.cells import Cells, without_column
from fedbary.data.frames import require_column
from fedbary.data.options import ReadOptions
from fedbary.data.persons import persons_if_there
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError
from fedbary.notes import Note

__all__ = ["as_table", "check_types", "client_tables", "clients_in", "private_table", "reference_table"]

# Arrays of images up to this size are their pixels; the encoder ``pixels`` would leave them as they are.
_SIDE = 32
_COLOURS = (1, 3, 4)


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
    """The table of whatever holds rows and labels, ``name`` being the client whose rows they are.

    That is a `Table`; a frame of pandas, polars, pyarrow, DuckDB or any library that narwhals knows; a data set of
    Hugging Face; a data set or loader of torch; a pair ``(X, y)`` of arrays, sparse matrices, lists of texts or images,
    or a frame; or the path of a file. The label column is by default ``likely``, its name elsewhere, or ``label``.
    """
    with naming(f"client {name!r}" if name else ""):
        table = _table(row_source(data, splits), label, likely, options, reading)
    return table.replace(origin=name) if name else table


def private_table(data: Any, *, label: str | None, options: ReadOptions | None, reading: Reading | None) -> Table:
    """An owner's table for an answer with ε: files and frames are read as was agreed, whatever their cells hold.

    Arrays have no cells that could be read in two ways, and a `Table` is taken as its owner has read it.
    """
    import pandas as pd

    from fedbary.data.files import read_any_cells, table_of_any_cells

    rows, asked, name = row_source(data, alone=True).rows, options or ReadOptions(), label or "label"
    if isinstance(rows, tuple):
        X, y = rows
        if isinstance(X, pd.DataFrame) and name not in X.columns and np.shape(y) == (len(X),):
            whole = X.reset_index(drop=True)
            whole[name] = pd.Series(y).array
            rows = Cells(whole)
    if isinstance(rows, Table | tuple):
        return as_table(rows, label=label, options=options, reading=reading)
    if isinstance(rows, str | PathLike):
        return read_any_cells(rows, name, options=asked, reading=reading)
    return table_of_any_cells(rows.frame, name, options=asked, reading=reading)


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

    def reader(data: Any) -> Reader:
        """What reads a client's rows by one agreement or another, and takes them out of their object once."""
        rows = cache(lambda: row_source(data))
        return lambda reading: _table(rows(), label, likely, options, reading)

    readers = {str(name): reader(data) for name, data in clients.items() if not isinstance(data, FedbaryError)}
    read: dict[str, Table | DataError] = {}
    if not agreed:
        read = read_alike(readers, "collect")
    for name, own in readers.items() if agreed else ():
        try:
            read[name] = own(agreed)
        except DataError as error:
            read[name] = error
    return {str(name): read.get(str(name), data) for name, data in clients.items()}


def check_types(clients: Mapping[str, Any]) -> None:
    """Raise a DataError, with the client's name, where an object is of a type that holds no rows; reads nothing."""
    for name, data in clients.items():
        with naming(f"client {str(name)!r}"):
            adapter_of(data)


def _table(
    source: RowSource, label: str | None, likely: str | None, options: ReadOptions | None, reading: Reading | None
) -> Table:
    rows = source.rows
    if isinstance(rows, Table):
        table = rows
    elif isinstance(rows, tuple):
        table = _of_pair(*rows, options or ReadOptions(), reading)
    elif isinstance(rows, str | PathLike):
        from fedbary.data.files import read

        table = read(rows, label or likely or "label", options=options, reading=reading)
    else:
        frame = rows.frame if options is None else without_column(rows.frame, options.client_column)
        names = tuple(str(column) for column in frame.columns)
        likely_names = [likely, "label", source.label]
        found = label or next((column for column in likely_names if column in names), None)
        if found is None:
            raise DataError("data.frame-without-label", label=likely or "label", names=names)
        require_column(names, found, role="label")
        table = Table.from_frame(frame, found, options=options, reading=reading)
        guessed = () if found in (label, likely, "label") else (Note("data.label-guessed", {"column": found}),)
        table = table.replace(notes=(*rows.notes, *guessed, *table.notes))
    if len(table) == 0:
        raise DataError("data.no-rows")
    return table


def _of_pair(X: Any, y: Any, options: ReadOptions, reading: Reading | None) -> Table:
    kind = encodable(X, options, reading)
    if kind is None:
        return Table.from_arrays(X, y, options=options, reading=reading)
    if options.person is not None:
        require_column([kind], options.person, role="person")
    agreed = None if reading is None else reading.get(kind)
    agreed = agreed if isinstance(agreed, Encoded) else None
    made = encoded(X, options.encoder, kind=kind, name=kind, agreed=agreed)
    how = (Image if kind == "image" else Text)(made.encoder, made.digest)
    table = Table.from_arrays(made.block, y)
    return table.replace(columns={kind: table.columns["x"]}, reading=Reading({kind: how}), notes=made.notes)


def encodable(X: Any, options: ReadOptions, reading: Reading | None = None) -> CellKind | None:
    """Whether X is a list of texts or images, or an array (n, h, w) or (n, h, w, colours) of images to be encoded.

    An array is where an encoder of images was asked for or agreed on, or where its images are large.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        if X.ndim != 3 and not (X.ndim == 4 and X.shape[3] in _COLOURS):
            return None
        return "image" if suits(options.encoder, "image") or "image" in (reading or {}) or _is_large(X) else None
    if not isinstance(X, list | tuple) and not (isinstance(X, np.ndarray) and X.ndim == 1):
        return None
    first = next((cell for cell in X if cell is not None), None)
    if is_image(first):
        return "image"
    return "text" if isinstance(first, str) else None


def _is_large(X: np.ndarray[Any, Any]) -> bool:
    if max(X.shape[1:3]) <= _SIDE:
        return False
    return X.dtype == np.uint8 or (X.ndim == 4 and X.size > 0 and X.min() >= 0 and X.max() <= 1)
