"""`read_any_cells`: a table of whatever cells a file holds, for answers that must not depend on whether one row fits.

`fedbary.data.files.read` refuses a file for a single cell: a missing label, an id that stands twice, text among
numbers, an infinite number. Whoever is told of the refusal has learnt about that row. Here kinds come from the agreed
reading and the owner's options and never from cells, and a cell that cannot be read is missing; one that can reads as
it would there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.column_cells import ColumnCells, TextCells, any_cells_of
from fedbary.data.columns import LARGEST, Array, as_ids, naming
from fedbary.data.formats import opened
from fedbary.data.frames import check_roles, label_names, require_unique, texts, with_index
from fedbary.data.options import ReadOptions
from fedbary.data.persons import ONE_ROW_EACH, person_codes
from fedbary.data.places import AnyPath, file_name
from fedbary.data.read_columns import category_texts, columns_of
from fedbary.data.reading import LEFT_OUT, Reading
from fedbary.data.table import Table
from fedbary.data.told import told_reading
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# A text that no class has; in a schema it is one of the others.
_NO_LABEL = "(missing)"
_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")


def read_any_cells(
    path: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - as in `read`
    options: ReadOptions | None = None,
    reading: Reading | None = None,
) -> Table:
    r"""Read a table, whatever its cells hold; refuses only what is wrong with the file or its columns.

    Ids are kept where they name rows: they are for the owner's own results, and nothing else depends on them.
    Columns that neither the reading nor the options know are left out. Without a reading, or where it
    knows no column, each is as it comes: numbers, or texts.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fedbary.data.reading import ColumnReading
    >>> path = Path(tempfile.mkdtemp()) / "ward.csv"
    >>> _ = path.write_text("id,age,label\n1,31,yes\n1,53.5,\n2,old,no\n")
    >>> table = read_any_cells(path, "label", id="id", reading=Reading({"age": ColumnReading("number")}))
    >>> table.columns["age"].tolist(), table.labels.tolist()
    ([31.0, 53.5, nan], ['yes', '(missing)', 'no'])
    """
    origin, asked = file_name(path), options or ReadOptions()
    with opened(path, asked, reading=reading, alone=True) as cells, naming(origin):
        return table_of_any_cells(cells.frame, label, id=id, options=asked, reading=reading).replace(origin=origin)


def table_of_any_cells(
    frame: pd.DataFrame,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - as in `read`
    options: ReadOptions,
    reading: Reading | None,
) -> Table:
    """The table of a frame, as `read_any_cells` reads that of a file."""
    frame = with_index(frame, options.person)
    names = [str(name) for name in frame.columns]
    require_unique(names)
    frame = frame.set_axis(names, axis=1)
    check_roles(names, label, None, options.person)
    if len(frame) == 0:
        raise DataError("data.header-only", columns=len(names))
    labels = _labels(frame[label], options.decimal or "")
    others = list(dict.fromkeys(name for name in (label, id, options.person) if name in names))
    features, stated = _features(frame.drop(columns=others), options, reading, others)
    ids = None if id not in names else _ids(str(id), frame)
    table = Table(features, labels, ids=ids, label_name=label, id_name=id or "row", reading=stated)
    if options.person is None:
        return table
    persons = person_codes(frame[options.person])
    people = int(persons.max()) + 1
    cost = Note(ONE_ROW_EACH, {"persons": people, "left": len(persons) - people})
    return table.replace(persons=persons, notes=(cost,))


def _ids(name: str, frame: pd.DataFrame) -> Array | None:
    """For the owner's eyes alone, so that here all of them may say whether they are whole numbers or texts."""
    import pandas as pd

    cells = frame[name]
    if pd.api.types.is_numeric_dtype(cells.dtype):
        ids = cells.to_numpy()
    else:
        named = [None if none else _shown(cell) for cell, none in zip(cells, cells.isna(), strict=True)]
        whole = all(one is not None and _WHOLE.fullmatch(one) for one in named)
        ids = np.array([int(str(one)) for one in named]) if whole else texts(named)
    try:
        return as_ids(name, ids)
    except DataError:
        return None


def _shown(cell: object) -> str:
    return str(cell).encode("utf-8", "backslashreplace").decode()


def _features(
    frame: pd.DataFrame, options: ReadOptions, agreed: Reading | None, others: list[str]
) -> tuple[dict[str, Array], Reading]:
    names = [str(name) for name in frame.columns]
    told = told_reading(names, options, others)
    known = {name: told.get(name) or (None if agreed is None else agreed.get(name)) for name in names}
    reading = Reading(
        {
            name: replace(how, decimal=options.decimal or how.decimal)
            for name, how in known.items()
            if how is not None and how.kind not in LEFT_OUT
        }
    )
    cells = {name: any_cells_of(frame[name], how.kind) for name, how in reading.items()}
    columns, stated, _ = columns_of(cells, reading, encoder=options.encoder, strict=False)
    if agreed is None or not columns:  # whoever asks for other columns says which
        columns |= {name: _as_it_comes(frame[name]) for name, how in known.items() if how is None}
    return columns, stated


def _as_it_comes(series: pd.Series[Any]) -> Array:
    """Numbers, or texts: whoever takes them reads a number and its text alike."""
    cells = any_cells_of(series, "category")
    if isinstance(cells, TextCells) or cells.dtype.kind not in "biuf":
        return category_texts(cells)
    finite = cells.dtype.kind != "f" or not (np.abs(cells) > LARGEST).any()
    return cells if finite else category_texts(cells)


def _labels(series: pd.Series[Any], decimal: str) -> Array:
    cells = any_cells_of(series, "category")
    if isinstance(cells, TextCells):
        return cells.spread(texts(label_names(cells.levels, decimal)), _NO_LABEL)
    if cells.dtype.kind in "biu" or (cells.dtype.kind == "f" and bool((np.abs(cells) <= LARGEST).all())):
        return cells
    return _named(cells)


def _named(cells: ColumnCells) -> Array:
    names = category_texts(cells)
    return texts([_NO_LABEL if name is None else name for name in names])
