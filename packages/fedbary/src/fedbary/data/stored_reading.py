"""How the columns of a large file are read whose rows stay there: as in memory, and decided one column at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.columns import Boolean, Category, Date, Dropped, Encoded, Image, Number, Vector
from fedbary.columns.arrays import Array, naming, refuse_infinite
from fedbary.columns.cells import ColumnCells
from fedbary.columns.identifier import may_name_persons
from fedbary.data import stored
from fedbary.data.arrow_cells import cells_of_arrow, matrix_of, pandas_column
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
    check_roles,
    is_used,
    labelled,
    labels_from_series,
    require_unique,
)
from fedbary.data.guess import decide, told_reading
from fedbary.data.options import ReadOptions
from fedbary.data.persons import person_codes, repeat_notes
from fedbary.data.places import AnyPath, file_name, is_url
from fedbary.data.read_columns import left_out
from fedbary.data.reading import Reading
from fedbary.data.stored_columns import StoredColumns
from fedbary.errors import DataError
from fedbary.notes import Note

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
) -> stored.StoredTable | None:
    """The table of a file whose rows stay there; None where they are better read into memory.

    That is where the format has no types or cannot be read in parts, where cells are few unless ``small`` tables are
    wanted, too, and where some are images or texts for an encoder, as these are encoded once.
    """
    if is_url(path) or not is_arrow_file(Path(path)):
        return None
    file = Path(path)
    stamp = stamp_of(file)
    if not stamp or not all(size for _, size, _ in stamp):
        return None  # reading it will say what is wrong
    with opened_rows(file) as rows, naming(file_name(file)):
        fits = not small and rows.cells() <= stored.MOST_IN_MEMORY
        fields = None if fits else _fields(rows.schema, (id, None if options is None else options.person))
        return (
            None
            if fields is None
            else _table(rows, file, stamp, fields, label=label, id=id, asked=options or ReadOptions(), reading=reading)
        )


def _table(
    rows: ArrowRows,
    file: Path,
    stamp: Stamp,
    fields: Mapping[str, str],
    *,
    label: str,
    id: str | None,  # noqa: A002 - as in `read`
    asked: ReadOptions,
    reading: Reading | None,
) -> stored.StoredTable | None:
    fields = {name: field for name, field in fields.items() if name != asked.client_column}
    others = check_roles(list(fields), label, id, asked.person)
    there, chosen, unlabelled = labelled(label, _labels(rows, file, fields[label]))
    labels = labels_from_series(label, there, asked.decimal or "")
    ids: Array | None = chosen
    if id is not None:
        named = np.asarray(pandas_column(whole_column(rows, fields[id])).to_numpy())
        ids = named if chosen is None else named[chosen]
    persons = None
    if asked.person is not None:
        cells = pandas_column(whole_column(rows, fields[asked.person]))
        persons = person_codes(cells if chosen is None else cells.iloc[chosen])
    columns = {name: field for name, field in fields.items() if name not in others}
    told = told_reading(list(columns), asked, (*others, *(reading or ())))
    used = {name: field for name, field in columns.items() if is_used(told, name)}
    look = _Look(rows, used, Reading({**(reading or {}), **told}), _sample(rows, used))
    if look.has_images(file if file.is_dir() else file.parent):
        return None
    decided, notes = decide(look, asked, told, reading)
    decided, unread = look.readable(decided)
    if any(isinstance(how, Encoded) for how in decided.values()):
        return None
    require_unique(decided.columns())
    kept = StoredColumns(file, len(labels), stamp, columns, decided, look.with_gaps(decided), chosen)
    doubtful = [name for name in columns if may_name_persons(name)] if persons is None else []
    repeated = repeat_notes((name, pandas_column(whole_column(rows, columns[name]))) for name in doubtful)
    notes = (*unlabelled, *repeated, *notes, *unread)
    return stored.StoredTable(kept, labels, ids, label, id or "row", file_name(file), decided, notes, persons)


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


def _labels(rows: ArrowRows, file: Path, field: str) -> Any:
    column = whole_column(rows, field)
    refuse_rows(file, len(column))
    if not len(column):
        raise DataError("data.header-only", columns=len(rows.schema.names))
    return pandas_column(column)


def _sample(rows: ArrowRows, fields: Mapping[str, str]) -> Any:
    return next(rows_in_parts(rows, _SAMPLE, list(fields.values()))) if fields else None


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
        found = []
        for name, how in decided.items():
            if isinstance(how, Boolean):
                values, _ = how.read_all(name, cells_of_arrow(name, self._whole(name)))
                found += [name] if values.dtype.kind == "f" else []
            elif (
                not how.left_out
                and not isinstance(how, Number)
                and _is_whole(self.sample.column(self.fields[name]).type)
            ):
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


def _is_whole(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind))


def _holds_lists(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind))
