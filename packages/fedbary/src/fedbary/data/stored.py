"""Tables whose rows stay in their file: Parquet and Feather files that are large, read a part at a time.

Labels, ids and persons are in memory; features are read whenever they are needed. How columns are read is decided as in
memory, one column at a time, and by the first of its cells where they tell as much as all would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.columns import Boolean, Category, Column, Date, Dropped, Encoded, Image, Number, Vector
from fedbary.columns.arrays import Array, naming, refuse_infinite
from fedbary.columns.category import may_name_persons
from fedbary.columns.column import ColumnCells
from fedbary.data.formats import decoding
from fedbary.data.formats.arrow_files import (
    ArrowRows,
    Stamp,
    is_arrow_file,
    opened_rows,
    rows_in_parts,
    stamp_of,
    whole_column,
)
from fedbary.data.formats.cells import clean_names, refuse_rows
from fedbary.data.formats.images import with_images
from fedbary.data.frames import (
    cells_of_arrow,
    check_roles,
    labelled,
    labels_from_series,
    matrix_of,
    pandas_column,
    require_unique,
)
from fedbary.data.options import ReadOptions
from fedbary.data.persons import person_codes, repeat_notes
from fedbary.data.places import AnyPath, file_name, is_url
from fedbary.data.reading import Reading, decide, left_out, told_reading
from fedbary.data.table import ColumnSource, Places, Table
from fedbary.errors import DataError
from fedbary.notes import Note

# Cells that a table in memory may have: as numbers they take 128 MB.
MOST_IN_MEMORY = 2**24
# Rows that are looked through together for some of them.
_PART = 65_536
# Rows that are looked at before a whole column is.
_SAMPLE = 65_536


def stored_table(
    path: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - as in `read`
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    small: bool = False,
) -> Table | None:
    """The table of a file whose rows stay there, which must not change meanwhile; None where memory is better.

    That is where the format has no types or cannot be read in parts, where cells are few unless ``small`` tables are
    wanted, too, and where some are images or texts for an encoder, as these are encoded once.
    """
    if is_url(path) or not is_arrow_file(Path(path)):
        return None
    file, asked = Path(path), options or ReadOptions()
    stamp = stamp_of(file)
    if not stamp or not all(size for _, size, _ in stamp):
        return None  # reading it will say what is wrong
    with opened_rows(file) as rows, naming(file_name(file)):
        if not small and rows.cells() <= MOST_IN_MEMORY:
            return None
        fields = _fields(rows.schema, (id, asked.person))
        if fields is None:
            return None
        fields = {name: field for name, field in fields.items() if name != asked.client_column}
        others = check_roles(list(fields), label, id, asked.person)
        given = whole_column(rows, fields[label])
        refuse_rows(file, len(given))
        if not len(given):
            raise DataError("data.header-only", columns=len(rows.schema.names))
        there, chosen, unlabelled = labelled(label, pandas_column(given))
        labels = labels_from_series(label, there, asked.decimal or "")

        def role(name: str) -> Any:
            cells = pandas_column(whole_column(rows, fields[name]))
            return cells if chosen is None else cells.iloc[chosen]

        ids = chosen if id is None else np.asarray(role(id).to_numpy())
        persons = None if asked.person is None else person_codes(role(asked.person))
        columns = {name: field for name, field in fields.items() if name not in others}
        told = told_reading(list(columns), asked, (*others, *(reading or ())))
        used = {name: field for name, field in columns.items() if name not in told or not told[name].left_out}
        sample = next(rows_in_parts(rows, _SAMPLE, list(used.values()))) if used else None
        look = _Look(rows, used, Reading({**(reading or {}), **told}), sample)
        if look.has_images(file if file.is_dir() else file.parent):
            return None
        decided, notes = decide(look, asked, told, reading)
        decided, unread = look.readable(decided)
        if any(isinstance(column, Encoded) for column in decided.values()):
            return None
        require_unique(decided.columns())
        kept = StoredColumns(file, len(labels), stamp, columns, decided, look.with_gaps(decided), chosen)
        doubtful = [name for name in columns if may_name_persons(name)] if persons is None else []
        repeated = repeat_notes((name, pandas_column(whole_column(rows, columns[name]))) for name in doubtful)
        notes = (*unlabelled, *repeated, *notes, *unread)
        return Table(kept, labels, ids, label, id or "row", file_name(file), decided, notes, persons)


@dataclass(frozen=True)
class StoredColumns(ColumnSource):
    """Name → column of the table; each is read from the file whenever it is asked for, and none is kept.

    Parameters
    ----------
    path
        The file, or the folder of part files.
    rows
        How many rows the table has.
    stamp
        What the file looked like when its reading was decided.
    fields
        Column of the file, as its reading calls it → what Arrow calls it.
    reading
        How the columns are read.
    missing
        Columns of whole numbers or truths of which some row lacks a value, so that no part is read as if none did.
    chosen
        Which rows of the file, in its order; all by default.
    """

    path: Path
    rows: int
    stamp: Stamp
    fields: Mapping[str, str]
    reading: Reading
    missing: frozenset[str] = frozenset()
    chosen: Places | None = field(default=None, repr=False)
    _home: dict[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._home.update({made: name for name, column in self._used.items() for made in column.made(name)})

    def __getitem__(self, name: str) -> Array:
        home = self._home[name]
        with self._opened() as rows:
            cells = whole_column(rows, self.fields[home])
        values = self._read(home, cells)[name]
        refuse_infinite(name, values)
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._home)

    def __len__(self) -> int:
        return len(self._home)

    def __contains__(self, name: object) -> bool:
        return name in self._home

    def parts(self, rows: int) -> Iterator[dict[str, Array]]:
        """All columns, so many rows at a time."""
        with self._opened() as source:
            for part in rows_in_parts(source, rows, [self.fields[name] for name in self._used]):
                columns: dict[str, Array] = {}
                for name in self._used:
                    columns |= self._read(name, part.column(self.fields[name]))
                yield columns

    def choose(self, places: Places) -> Mapping[str, Array]:
        """The columns of some rows: in memory, unless these are many, each once and in the order of the file."""
        cells = sum(
            column.width if isinstance(column, Vector) and column.width else 1 for column in self._used.values()
        )
        if len(places) * cells > MOST_IN_MEMORY and bool((np.diff(places) > 0).all()):
            return self._some(places)
        once, again = np.unique(places, return_inverse=True)
        # Of no rows at all the first one says what they would be.
        parts = list(self._some(once if len(once) else np.zeros(1, np.intp)).parts(_PART))
        return {name: np.concatenate([part[name] for part in parts])[again] for name in self}

    def _some(self, places: Places) -> StoredColumns:
        return replace(self, rows=len(places), chosen=places if self.chosen is None else self.chosen[places])

    @property
    def _used(self) -> dict[str, Column]:
        return {name: column for name, column in self.reading.items() if not column.left_out}

    @contextmanager
    def _opened(self) -> Iterator[ArrowRows]:
        """The file, which has to be what it was: before it is read, and after that."""
        self._check()
        try:
            with opened_rows(self.path) as rows:
                yield rows if self.chosen is None else _ChosenRows(rows, self.chosen)
        except DataError:
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        if stamp_of(self.path) != self.stamp:
            raise DataError("data.file-changed", where=str(self.path))

    def _read(self, name: str, cells: Any) -> dict[str, Array]:
        """The columns of the table that one of the file becomes; as in memory, where a whole column has a say."""
        column = self.reading[name]
        matrix = matrix_of(cells) if isinstance(column, Vector) else None
        if isinstance(column, Vector) and matrix is not None and column.width in (0, matrix.shape[1]):
            return {name: matrix}
        with decoding(self.path):
            found = cells_of_arrow(name, cells)
            if name in self.missing and isinstance(found, np.ndarray) and found.dtype.kind in "iu":
                found = found.astype(np.float64)
            if isinstance(column, Number | Date):  # how many cells cannot be read was looked at for the whole column
                values, _ = column.read(found)
            else:
                values, _ = column.read_all(name, found)
            if isinstance(column, Boolean) and name in self.missing:
                values = values.astype(np.float64)
            return column.arrays(name, values)


@dataclass(frozen=True)
class _ChosenRows:
    """Some rows of a file."""

    of: ArrowRows
    chosen: Places

    @property
    def schema(self) -> Any:
        return self.of.schema

    def cells(self) -> int:
        return self.of.cells()

    def batches(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        start = last = 0
        for batch in self.of.batches(max(rows, _PART), columns):
            first, last = last, int(np.searchsorted(self.chosen, start + batch.num_rows))
            if last > first:
                yield batch.take(self.chosen[first:last] - start)
            if last == len(self.chosen):
                return
            start += batch.num_rows


def _fields(schema: Any, wanted: tuple[str | None, ...]) -> dict[str, str] | None:
    """The columns of the frame that a file would become → what Arrow calls them; an index only where it is wanted.

    None where that is an index that is counted rather than stored.
    """
    frame = schema.empty_table().to_pandas()
    frame = frame.set_axis(clean_names(frame.columns), axis=1)
    index = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    levels = [one for one in index if isinstance(one, str) and one in schema.names]
    fields = [name for name in schema.names if name not in levels]
    missed = [name for name in wanted if name is not None and name not in frame.columns]
    if any(isinstance(one, dict) and one.get("name") in missed for one in index):
        return None
    if any(name in frame.index.names for name in missed):
        frame, fields = frame.reset_index(), [*levels, *fields]
    names = [str(name) for name in frame.columns]
    require_unique(names)
    return dict(zip(names, fields, strict=True))


@dataclass(frozen=True)
class _Look(Mapping[str, ColumnCells]):
    """The cells that a kind is decided by: the first of a column where they tell as much as all would, else all."""

    rows: ArrowRows
    fields: Mapping[str, str]
    known: Reading
    sample: Any

    def __getitem__(self, name: str) -> ColumnCells:
        column = self.sample.column(self.fields[name])
        if _holds_lists(column.type) and column.null_count < len(column):
            return cells_of_arrow(name, column.drop_null().slice(0, 1))
        return cells_of_arrow(name, column if self._is_enough(name, column) else self._whole(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def has_images(self, folder: Path) -> bool:
        """Whether some column holds images, or names of their files."""
        if any(isinstance(self.known[name], Image) for name in self.fields if name in self.known):
            return True
        texts = {name: self.sample.column(field) for name, field in self.fields.items()}
        frames = [pandas_column(column).to_frame(name) for name, column in texts.items() if not _has_type(column.type)]
        return any(with_images(frame, folder, self.known) is not frame for frame in frames)

    def readable(self, decided: Reading) -> tuple[Reading, tuple[Note, ...]]:
        """The reading without columns that cannot be read, which the type of numbers, truths and moments rules out."""
        found, notes = dict(decided), list[Note]()
        for name, how in decided.items():
            if how.left_out or isinstance(how, Category) or _has_type(self.sample.column(self.fields[name]).type):
                continue
            # Vectors are too large to be in memory together, and one that does not fit is enough.
            parts = rows_in_parts(self.rows, _SAMPLE, [self.fields[name]]) if isinstance(how, Vector) else [None]
            try:
                for part in parts:
                    column = self._whole(name) if part is None else part.column(self.fields[name])
                    if (matrix := matrix_of(column)) is not None:
                        refuse_infinite(name, matrix)
                    else:
                        notes += how.read_all(name, cells_of_arrow(name, column))[1]
            except DataError as error:
                found[name] = Dropped()
                notes.append(left_out(error))
        return Reading(found), tuple(notes)

    def with_gaps(self, decided: Reading) -> frozenset[str]:
        """Columns of truths, and of whole numbers that are names, in which a cell is missing: then all are floats."""
        from pyarrow import types

        found = []
        for name, how in decided.items():
            if isinstance(how, Boolean):
                values, _ = how.read_all(name, cells_of_arrow(name, self._whole(name)))
                found += [name] if values.dtype.kind == "f" else []
            elif how.left_out or isinstance(how, Number):
                continue
            elif types.is_integer(self.sample.column(self.fields[name]).type):
                found += [name] if self._whole(name).null_count else []
        return frozenset(found)

    def _whole(self, name: str) -> Any:
        return whole_column(self.rows, self.fields[name])

    def _is_enough(self, name: str, column: Any) -> bool:
        from pyarrow import types

        if name in self.known and (_has_type(column.type) or not isinstance(self.known[name], Number | Date)):
            return True
        if types.is_floating(column.type):  # neither names of rows nor days have fractions
            values = np.asarray(cells_of_arrow(name, column))
            return bool((values[np.isfinite(values)] % 1).any())
        return bool(types.is_timestamp(column.type))


def _has_type(kind: Any) -> bool:
    """Whether a cell is a number, a truth or a moment by its type."""
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_temporal(kind))


def _holds_lists(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))
