"""A table: feature columns, a label for each row, and optionally row ids and whose each row is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import (
    Array,
    as_column,
    as_ids,
    as_labels,
    check_layout,
    columns_from_array,
    holds_classes,
    kind_of,
    missing_rows,
    naming,
)
from fedbary.data.frames import (
    check_roles,
    features_of,
    labelled,
    labels_as_series,
    labels_from_series,
    require_column,
    require_unique,
    with_index,
)
from fedbary.data.options import ReadOptions
from fedbary.data.persons import Persons, as_persons, person_codes, repeat_notes
from fedbary.data.reading import Reading
from fedbary.data.sparse import dense, is_sparse
from fedbary.errors import DataError, wrong_parameter
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

# Rows that are in memory together, where a table is worked on in parts.
PART = 65_536
Places = npt.NDArray[np.intp]


class ColumnSource(Mapping[str, Array]):
    """Columns that are not in memory: each is put together when somebody asks for all of it, and none is kept."""

    rows: int

    def parts(self, rows: int) -> Iterator[Mapping[str, Array]]:
        """All columns, so many rows at a time."""
        raise NotImplementedError

    def choose(self, places: Places) -> Mapping[str, Array]:
        """The columns of some rows, in that order."""
        raise NotImplementedError

    @cached_property
    def first(self) -> Mapping[str, Array]:
        """One row; kept, as a file gives away no single row without the thousands beside it."""
        return next(self.parts(1))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with features and labels, checked once so that nothing below has to check again.

    Parameters
    ----------
    columns
        Name → float64, bool or object (text, None = missing) of shape (rows,), or a float *block* of
        shape (rows, width) such as an embedding. NaN means missing; infinities are refused.
    labels
        One label for each row: integers, floats, booleans or text.
    ids
        Unique names of the rows; without them a row is known by its position.
    label_name, id_name
        What the label and the ids are called in files and messages.
    origin
        The file or client the rows come from, for messages only.
    reading
        How the columns of a file or frame became these; empty for arrays.
    notes
        What was guessed when it was read, for its owner.
    persons
        Whose each row is: whole numbers, the same for rows of one person, or names, which become numbers. They stay
        here: guards count them, and nothing else is made of them. Without them each different row is a person.

    Examples
    --------
    >>> table = Table({"age": [31, 45], "job": ["nurse", None]}, labels=["yes", "no"])
    >>> len(table), table.column_names, table.missing()
    (2, ('age', 'job'), {'age': 0, 'job': 1})
    """

    columns: Mapping[str, Array]
    labels: Array
    ids: Array | None = None
    label_name: str = "label"
    id_name: str = "row"
    origin: str = ""
    reading: Reading = field(default_factory=Reading)
    notes: tuple[Note, ...] = ()
    persons: Persons | None = None

    def __post_init__(self) -> None:
        with naming(self.origin):
            columns, lengths = self.columns, self.columns
            if isinstance(columns, ColumnSource):  # what is wrong with a cell is said when it is met
                lengths = dict.fromkeys(columns, np.broadcast_to(0, columns.rows))
            else:
                columns = lengths = {str(name): as_column(str(name), values) for name, values in columns.items()}
            labels = as_labels(self.label_name, self.labels)
            ids = None if self.ids is None else as_ids(self.id_name, self.ids)
            extra = {} if ids is None else {self.id_name: ids}
            check_layout(lengths, {**extra, self.label_name: labels})
            persons = None if self.persons is None else as_persons(self.persons, len(labels))
        for name, value in (("columns", columns), ("labels", labels), ("ids", ids), ("persons", persons)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        ids: Any = None,
        columns: Sequence[str] | None = None,
        options: ReadOptions | None = None,
        reading: Reading | None = None,
        origin: str = "",
    ) -> Table:
        """Build a table from features (array, sparse matrix, nested list or DataFrame) and labels.

        An array becomes one block ``x`` (images are flattened), or separate columns where their
        names are given. A sparse matrix becomes dense, by a fixed public projection where it is very wide.
        The columns of a DataFrame are read as `from_frame` reads them. Rows without a label are left out; the others
        are known by their positions.

        Examples
        --------
        >>> Table.from_arrays(np.zeros((3, 8, 8)), [0, 1, 1]).columns["x"].shape
        (3, 64)
        >>> Table.from_arrays([[31, 2.5]], ["yes"], columns=["age", "income"]).column_names
        ('age', 'income')
        """
        import pandas as pd

        label_name = str(getattr(y, "name", None) or "label")
        asked = options or ReadOptions()
        stated = Reading()
        notes: tuple[Note, ...] = ()
        persons: Persons | None = None
        with naming(origin):
            if is_sparse(X):
                X, notes = dense(X)
            if isinstance(X, pd.DataFrame):
                if asked.person is not None:
                    X = X.set_axis([str(name) for name in X.columns], axis=1)
                    require_column(list(X.columns), asked.person, role="person")
                    persons, X = person_codes(X[asked.person]), X.drop(columns=asked.person)
                repeated = () if asked.person is not None else repeat_notes(X.items())
                features, stated, notes = features_of(X, asked, reading)
                notes = (*repeated, *notes)
            else:
                features = columns_from_array(X, columns)
                if asked.person is not None:
                    require_column(list(features), asked.person, role="person")
                    persons = as_persons(features.pop(asked.person), len(X))
            given = labels_as_series(label_name, y)
            if len(X) == 0:
                raise DataError("data.array-without-rows")
            if len(X) != len(given):
                raise DataError("data.array-lengths-differ", rows=len(X), labels=len(given))
            there, rows, unlabelled = labelled(label_name, given)
            if rows is not None:
                ids = rows if ids is None else np.asarray(ids)[rows]
                features = {name: column[rows] for name, column in features.items()}
                persons = None if persons is None else persons[rows]
            labels = labels_from_series(label_name, there, asked.decimal or "")
        return cls(
            features,
            labels,
            ids=ids,
            label_name=label_name,
            origin=origin,
            reading=stated,
            notes=(*notes, *unlabelled),
            persons=persons,
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        label: str = "label",
        *,
        id: str | None = None,  # noqa: A002 - the word of the public interface
        options: ReadOptions | None = None,
        reading: Reading | None = None,
        notes: tuple[Note, ...] = (),
        origin: str = "",
    ) -> Table:
        """Build a table from a DataFrame: every column but the label, the id and the person is a feature.

        Rows without a label are left out; the others are known by their ids, or else by their positions in the frame.
        ``options`` say what is asked of reading its columns, ``reading`` how they were agreed to be read; the rest is
        guessed, and the table's ``notes`` say what was, after those that came.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [31, 45], "bought": ["yes", "no"]})
        >>> Table.from_frame(frame, label="bought").labels
        array(['yes', 'no'], dtype=object)
        """
        with naming(origin):
            asked = options or ReadOptions()
            frame = with_index(frame, id, asked.person)
            names = [str(name) for name in frame.columns]
            require_unique(names)
            frame = frame.set_axis(names, axis=1)
            others = check_roles(names, label, id, asked.person)
            if len(frame) == 0:
                raise DataError("data.header-only", columns=len(names))
            there, rows, unlabelled = labelled(label, frame[label])
            frame = frame if rows is None else frame.iloc[rows]
            labels = labels_from_series(label, there, asked.decimal or "")
            ids = rows if id is None else np.asarray(frame[id].to_numpy())
            persons = None if asked.person is None else person_codes(frame[asked.person])
            frame = frame.drop(columns=others)
            repeated = () if asked.person is not None else repeat_notes(frame.items())
            features, stated, guessed = features_of(frame, asked, reading, others)
        return cls(
            features,
            labels,
            ids=ids,
            label_name=label,
            id_name=id or "row",
            origin=origin,
            reading=stated,
            notes=(*notes, *unlabelled, *repeated, *guessed),
            persons=persons,
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows, {len(self.columns)} columns, label {self.label_name!r})"

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the feature columns, in order."""
        return tuple(self.columns)

    @property
    def row_names(self) -> Array:
        """The ids, or the positions 0, 1, … where there are none."""
        return np.arange(len(self)) if self.ids is None else self.ids

    @property
    def has_classes(self) -> bool:
        """Whether the labels are classes rather than a quantity."""
        return holds_classes(self.labels)

    @property
    def in_memory(self) -> bool:
        """Whether the columns are in memory, rather than in a file or to be made of others part by part."""
        return not isinstance(self.columns, ColumnSource)

    def missing(self) -> dict[str, int]:
        """Count, for each feature column, the rows in which it has no value."""
        counts = dict.fromkeys(self.columns, 0)
        for part in [self] if self.in_memory else self.batches():
            for name, column in part.columns.items():
                counts[name] += int(missing_rows(column).sum())
        return counts

    def take(self, rows: npt.ArrayLike) -> Table:
        """Keep the rows at these positions, or those marked True in a mask of all rows.

        Those of a file come into memory, unless they are many, each once and in the order of the file.
        """
        chosen = np.asarray(rows)
        if chosen.dtype.kind == "b" and chosen.shape != (len(self),):
            raise DataError("data.mask-does-not-fit", mask=int(chosen.size), rows=len(self))
        if chosen.size == 0:
            chosen = chosen.astype(np.intp)
        if isinstance(self.columns, ColumnSource):
            return self._part(chosen, self.columns.choose(np.arange(len(self))[chosen]))
        return self._part(chosen, {name: column[chosen] for name, column in self.columns.items()})

    def _part(self, rows: Any, columns: Mapping[str, Array]) -> Table:
        return self.replace(
            columns=columns,
            labels=self.labels[rows],
            ids=None if self.ids is None else self.ids[rows],
            persons=None if self.persons is None else self.persons[rows],
        )

    def head(self) -> Table:
        """A row or more in memory, by which its columns are known: all of them, but for tables that are elsewhere."""
        return self._part(slice(1), self.columns.first) if isinstance(self.columns, ColumnSource) else self

    def batches(self, rows: int = PART) -> Iterator[Table]:
        """The table in parts of so many rows, in order, each in memory; where all of it is, they share its memory.

        Examples
        --------
        >>> table = Table({"age": [31, 45, 52]}, labels=["yes", "no", "no"])
        >>> [len(part) for part in table.batches(rows=2)]
        [2, 1]
        """
        if rows < 1:
            raise wrong_parameter("rows", "batches", "at least 1", rows)
        if self.in_memory and 0 < len(self) <= rows:
            yield self
            return
        parts = self.columns.parts(rows) if isinstance(self.columns, ColumnSource) else self._slices(rows)
        start = 0
        while True:
            try:
                columns = next(parts, None)  # the end of a file says whether it is still what it was
                part = None if columns is None else self._part(slice(start, start + rows), columns)
            except DataError as error:
                raise self._of_all_rows(error) from error.__cause__
            if part is None:
                return
            yield part
            start += rows

    def _slices(self, rows: int) -> Iterator[Mapping[str, Array]]:
        for start in range(0, len(self), rows):
            yield {name: column[start : start + rows] for name, column in self.columns.items()}

    def _of_all_rows(self, error: DataError) -> DataError:
        """What is wrong with a column, of which a part knows only its own rows."""
        try:
            with naming(self.origin):
                for name in self.columns:
                    self.columns[name]
        except DataError as found:
            return found
        return error

    def replace(self, **changes: Any) -> Table:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_frame(self, *, blocks: str = "columns") -> pd.DataFrame:
        """Give ids (if any), features and labels as a DataFrame.

        A block ``x`` becomes the columns ``x_0``, ``x_1``, …, or with ``blocks="lists"`` one column of
        vectors, which is how Parquet keeps it.
        """
        import pandas as pd

        series: list[tuple[str, Any]] = [] if self.ids is None else [(self.id_name, self.ids)]
        for name, column in self.columns.items():
            if column.ndim == 1:
                series.append((name, column))
            elif blocks == "lists":
                series.append((name, list(column)))
            else:
                series.extend((f"{name}_{place}", column[:, place]) for place in range(column.shape[1]))
        series.append((self.label_name, self.labels))
        frame = dict(series)
        if len(frame) < len(series):
            raise DataError("data.block-names", names=tuple(map(str, list(frame)[:5])))
        return pd.DataFrame(frame)

    def summary(self) -> dict[str, Any]:
        """Describe the table in a few numbers that hold no row."""
        missing, head = self.missing(), self.head()
        return {
            "rows": len(self),
            "columns": {n: {"kind": kind_of(c), "missing": missing[n]} for n, c in head.columns.items()},
            "label": {"name": self.label_name, "distinct": len(np.unique(self.labels))},
        }


def changed(table: Table, change: Callable[[Table], Table]) -> Table:
    """What ``change`` makes of a table's columns.

    A change looks at each row by itself, so that it does not matter which rows are in memory together. A table of more
    than one part stays what it is, and its parts are changed whenever they are read.
    """
    if len(table) <= PART:
        return change(table)
    return table.replace(columns=_ChangedColumns(len(table), table.replace(ids=None, persons=None), change))


@dataclass(frozen=True, eq=False)
class _ChangedColumns(ColumnSource):
    """The columns of a table of which every part is changed when it is read."""

    rows: int
    source: Table
    change: Callable[[Table], Table]

    def __getitem__(self, name: str) -> Array:
        return np.concatenate([part[name] for part in self.parts(PART)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.first)

    def __len__(self) -> int:
        return len(self.first)

    def parts(self, rows: int) -> Iterator[Mapping[str, Array]]:
        return (self.change(part).columns for part in self.source.batches(rows))

    def choose(self, places: Places) -> Mapping[str, Array]:
        return changed(self.source.take(places), self.change).columns

    @cached_property
    def first(self) -> Mapping[str, Array]:
        """That of a table in a file is kept there."""
        head = self.source.take([0]) if self.source.in_memory else self.source.head()
        return self.change(head).columns


def concat(tables: Iterable[Table]) -> Table:
    """Put tables with the same columns under one another; ids and persons are kept where all have them.

    Numbers of persons mean the same in all of them, as they do in parts of one table.
    """
    parts = list(tables)
    if not parts:
        raise DataError("data.no-table")
    first = parts[0]
    shapes = {n: (kind_of(c), c.shape[1:]) for n, c in first.columns.items()}
    for position, part in enumerate(parts[1:], start=2):
        theirs = {n: (kind_of(c), c.shape[1:]) for n, c in part.columns.items()}
        differing = sorted(n for n in shapes | theirs if shapes.get(n) != theirs.get(n))
        if differing or (part.labels.dtype.kind == "O") != (first.labels.dtype.kind == "O"):
            raise DataError(
                "data.tables-differ", position=position, names=tuple(map(str, differing or [first.label_name]))
            )
    ids = None
    if all(part.ids is not None for part in parts):
        ids = np.concatenate([part.row_names for part in parts])
    persons = [part.persons for part in parts if part.persons is not None]
    return first.replace(
        columns={n: np.concatenate([part.columns[n] for part in parts]) for n in first.columns},
        labels=np.concatenate([part.labels for part in parts]),
        ids=ids,
        persons=np.concatenate(persons) if len(persons) == len(parts) else None,
    )
