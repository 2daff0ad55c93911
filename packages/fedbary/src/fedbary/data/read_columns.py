"""From the cells of a file to columns of a table, by a reading: each cell by itself, whatever the others hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from fedbary.columns import Dropped, Encoded
from fedbary.columns.arrays import Array
from fedbary.columns.cells import ColumnCells
from fedbary.columns.column import UNREAD
from fedbary.data.options import Encoder
from fedbary.data.reading import Reading
from fedbary.errors import DataError
from fedbary.notes import Note

OnMisfit: TypeAlias = Literal["refuse", "missing"]


def read_columns(
    cells: Mapping[str, ColumnCells], reading: Reading, *, encoder: Encoder = None, on_misfit: OnMisfit = "refuse"
) -> tuple[dict[str, Array], Reading, tuple[Note, ...]]:
    """Read every column that is not left out.

    Parameters
    ----------
    cells
        Column of the file → its cells.
    reading
        How each of them is read.
    encoder
        What the owner asked for, for images and free text.
    on_misfit
        With ``refuse`` a column in which more than a few cells cannot be read is left out; with ``missing`` each of
        them is missing, however many, and no cell has a say in how another is read: so it is with ε.

    Returns
    -------
    tuple
        The columns; the reading, with what encoders say of themselves; and notes on these and on cells and columns that
        could not be read.
    """
    from fedbary.data.encoders import encoded

    _refuse_too_wide(cells, reading)
    columns: dict[str, Array] = {}
    stated = dict(reading.of)
    notes: list[Note] = []
    unread: list[DataError] = []
    alone = on_misfit == "missing"
    for name, column in reading.items():
        if column.left_out:
            continue
        if isinstance(column, Encoded):
            objects, kind = column.read(cells[name])[0].tolist(), column.cell_kind
            made = encoded(objects, encoder, kind=kind, name=name, agreed=column, alone=alone)
            columns[name], stated[name] = made.block, replace(column, encoder=made.encoder, digest=made.digest)
            notes.extend(made.notes)
            continue
        try:
            values, said = (column.read(cells[name])[0], ()) if alone else column.read_all(name, cells[name])
            columns |= column.arrays(name, values)
            notes.extend(said)
        except DataError as error:
            unread.append(error)
            stated[name] = Dropped()
    if unread and not columns:
        raise unread[0]
    return columns, Reading(stated), (*notes, *map(left_out, unread))


def left_out(error: DataError) -> Note:
    """That a column is left out, for the reason for which it would be refused."""
    return Note(UNREAD, {"column": str(error.note.facts["column"]), "why": error.note})


def _refuse_too_wide(cells: Mapping[str, ColumnCells], reading: Reading) -> None:
    """By the reading alone: another party's may ask for more numbers than a machine has room for."""
    from fedbary.data.encoders import MOST_NUMBERS, width_of

    width = sum(width_of(column) or 0 for column in reading.values())
    rows = max((len(column) for column in cells.values()), default=0)
    if rows * width > MOST_NUMBERS:
        raise DataError("encoders.too-many-numbers", cells=rows, kind="row", width=width, most=MOST_NUMBERS)
