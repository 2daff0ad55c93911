"""`read_any_cells`: a table of whatever cells a file holds, for answers that must not depend on whether one row fits.

`fedbary.data.files.read` refuses a file for a single cell: a missing label, an id that stands twice, text among
numbers, an infinite number. Whoever is told of the refusal has learnt about that row. Here kinds come from the agreed
reading and the owner's options and never from cells, and a cell that cannot be read is missing; one that can reads as
it would there. Columns that nobody asks for are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.columns import Category, Column, Number
from fedbary.columns.arrays import LARGEST, Array, as_ids, naming
from fedbary.columns.cells import TextCells, as_texts
from fedbary.columns.date import ORDERS
from fedbary.data.column_cells import any_cells_of, any_text, plain_cells
from fedbary.data.formats import opened
from fedbary.data.frames import check_roles, label_names, require_unique, texts, with_index
from fedbary.data.guess import told_reading
from fedbary.data.options import ReadOptions
from fedbary.data.persons import ONE_ROW_EACH, person_codes
from fedbary.data.places import AnyPath, file_name
from fedbary.data.read_columns import read_columns
from fedbary.data.reading import Reading
from fedbary.data.table import Table
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
    """
    wanted = _Wanted(label, id, options or ReadOptions(), reading, file_name(path))
    with opened(path, wanted.options, reading=reading, alone=wanted) as cells, naming(wanted.origin):
        return wanted.table(cells.frame).replace(origin=wanted.origin)


def table_of_any_cells(frame: pd.DataFrame, label: str, *, options: ReadOptions, reading: Reading | None) -> Table:
    """The table of a frame, as `read_any_cells` reads that of a file."""
    frame = with_index(frame, options.person)
    wanted = _Wanted(label, None, options, reading)
    names = [str(name) for name in frame.columns]
    chosen = set(wanted(names))
    places = [place for place, name in enumerate(names) if name in chosen]
    return wanted.table(frame.iloc[:, places].set_axis([names[place] for place in places], axis=1))


@dataclass
class _Wanted:
    """What is wanted of a file's columns, and the table that it becomes; see `fedbary.data.formats.cells.Wanted`."""

    label: str
    id: str | None
    options: ReadOptions
    agreed: Reading | None
    origin: str = ""
    # What is said of each feature of the file, None where nobody says anything.
    known: dict[str, Column | None] = field(default_factory=dict)

    @property
    def asked(self) -> list[str]:
        """The columns that a format without a header has, whatever its rows hold."""
        options = self.options
        dates = (one.rpartition("=")[0] if one.endswith(ORDERS) and "=" in one else one for one in options.dates)
        ordered = (one.partition("=")[0].strip() for one in options.ordered)
        told = (*options.categories, *options.numeric, *dates, *ordered, *options.columns, *options.drop)
        names = dict.fromkeys((*(self.agreed or ()), *told, self.id, options.person, self.label))
        return [name for name in names if name is not None]

    def __call__(self, names: Sequence[str]) -> list[str]:
        """The columns that are wanted, by the names of all: none of them is chosen by its cells."""
        others = [name for name in names if name in (self.label, self.id, self.options.person)]
        features = [name for name in names if name not in others]
        with naming(self.origin):
            require_unique(names)
            check_roles(names, self.label, None, self.options.person)
            told, agreed = told_reading(features, self.options, others), self.agreed or Reading()
        self.known = {name: told.get(name) or agreed.get(name) for name in features}
        return [*others, *(self.reading if self.agreed else self._kept())]

    @property
    def reading(self) -> Reading:
        """How each column is read of which somebody says it."""
        decimal = self.options.decimal
        return Reading(
            {
                name: replace(how, decimal=decimal) if decimal and isinstance(how, Number) else how
                for name, how in self.known.items()
                if how is not None and not how.left_out
            }
        )

    def _kept(self) -> list[str]:
        return [name for name, how in self.known.items() if how is None or not how.left_out]

    def table(self, frame: pd.DataFrame) -> Table:
        """The table of these columns."""
        if len(frame) == 0:
            raise DataError("data.header-only", columns=len(self.known) + 1)
        reading = self.reading
        cells = {name: any_cells_of(frame[name], how) for name, how in reading.items()}
        columns, stated, _ = read_columns(cells, reading, encoder=self.options.encoder, on_misfit="missing")
        for name in self._kept():
            if not self.agreed and name not in reading:
                columns[name] = _as_it_comes(frame[name])
            elif self.agreed and not reading:  # whoever asks for other columns says which, by their names
                columns[name] = np.full(len(frame), np.nan)
        ids = _ids(self.id, plain_cells(frame[self.id]).tolist()) if self.id and self.id in frame else None
        labels = _labels(frame[self.label], self.options.decimal or "")
        table = Table(columns, labels, ids=ids, label_name=self.label, id_name=self.id or "row", reading=stated)
        if self.options.person is None:
            return table
        import pandas as pd

        persons = person_codes(pd.Series(plain_cells(frame[self.options.person]), dtype=object))
        people = int(persons.max()) + 1
        cost = Note(ONE_ROW_EACH, {"persons": people, "left": len(persons) - people})
        return table.replace(persons=persons, notes=(cost,))


def _ids(name: str, cells: list[Any]) -> Array | None:
    """For the owner's eyes alone, so that here all of them may say whether they are whole numbers or texts."""
    named = [any_text(cell) for cell in cells]
    if all(one is not None and _WHOLE.fullmatch(one) for one in named):
        ids = np.array([int(str(one)) for one in named])
    else:
        ids = texts([one and one.encode("utf-8", "backslashreplace").decode() for one in named])
    try:
        return as_ids(name, ids)
    except DataError:
        return None


def _as_it_comes(series: pd.Series[Any]) -> Array:
    """Numbers, or texts: whoever takes them reads a number and its text alike."""
    cells = any_cells_of(series, Category())
    if isinstance(cells, TextCells) or cells.dtype.kind not in "biuf":
        return Category().read(cells)[0]
    finite = cells.dtype.kind != "f" or not (np.abs(cells) > LARGEST).any()
    return cells if finite else Category().read(cells)[0]


def _labels(series: pd.Series[Any], decimal: str) -> Array:
    """Texts, whatever the column's type is: with numbers one missing label would decide on the type of all."""
    cells = as_texts(any_cells_of(series, Category()))
    return cells.spread(texts(label_names(cells.levels, decimal)), _NO_LABEL)
