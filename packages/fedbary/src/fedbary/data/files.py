"""Reading tables from files, folders and databases: one, or one for each client; and whatever cells one holds."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from fedbary.columns import Category, Column, Dropped, Number
from fedbary.columns.arrays import LARGEST, Array, as_ids, naming
from fedbary.columns.column import TextCells, as_texts
from fedbary.data.formats import SUFFIXES, is_table_folder, opened
from fedbary.data.formats.cells import OwnedRows, without_column
from fedbary.data.frames import (
    any_cells_of,
    any_text,
    check_roles,
    label_names,
    plain_cells,
    require_unique,
    texts,
    with_index,
)
from fedbary.data.options import ReadOptions
from fedbary.data.persons import ONE_ROW_EACH, person_codes
from fedbary.data.places import AnyPath, file_name, is_url, place_name, shown
from fedbary.data.reading import Reading, agreed_reading, differences, named_columns, read_columns, told_reading
from fedbary.data.stored import stored_table
from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.notes import Note

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = "AnyPath | Iterable[AnyPath] | Mapping[str, AnyPath]"
# In a folder of clients these are more often something else: a README, a schema, all of it packed.
_NOT_LISTED = (".txt", ".json", ".json.gz", ".zip")
_LISTED = tuple(suffix for suffix in SUFFIXES if suffix not in _NOT_LISTED)


def read(
    path: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - public interface
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    most: int | None = None,
    stored: bool | None = None,
) -> Table:
    r"""Read a table from a file, a folder of Parquet files or of images, or a database.

    Files are CSV (``.csv``, ``.tsv``, ``.txt``, also in ``.gz`` or ``.zip``), Parquet (``.parquet``), Feather
    (``.feather``), JSON lines (``.jsonl``, ``.json``) or Excel (``.xlsx``). A folder of images has one for each class:
    the label is ``class``, and rows are known by their files.

    Parameters
    ----------
    path
        The file, whose suffix says what it is, the folder, or the database's URL.
    label, id
        The columns that hold the labels and, if there is one, the unique row ids.
    options
        What is asked of reading; the rest is guessed.
    reading
        How columns were agreed to be read, by the reference or the schema; guesses are for the rest.
    most
        Stop after so many rows.
    stored
        Whether the rows of a Parquet or Feather file, or of a folder of Parquet files, stay there and come a part at a
        time (`Table.batches`). Default: where there are more than 2**24 cells.

    Raises
    ------
    DataError
        Naming the file, where it cannot be read or its rows cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "bank.csv"
    >>> _ = path.write_text("age,bought\n31,yes\n45,no\n")
    >>> read(path, label="bought")
    Table(2 rows, 1 columns, label 'bought')
    """
    asked = options or ReadOptions()
    if most is None and stored is not False:
        table = stored_table(path, label, id=id, options=asked, reading=reading, small=bool(stored))
        if table is not None:
            return table
    with opened(path, asked, most, reading=reading) as cells:
        frame = without_column(cells.frame, asked.client_column)
        return Table.from_frame(
            frame, label, id=id or cells.id, options=asked, reading=reading, notes=cells.notes, origin=file_name(path)
        )


@overload
def read_clients(
    source: Source,
    label: str,
    *,
    id: str | None = ...,
    options: ReadOptions | None = ...,
    reading: Reading | None = ...,
    errors: Literal["raise"] = ...,
) -> dict[str, Table]: ...
@overload
def read_clients(
    source: Source,
    label: str,
    *,
    id: str | None = ...,
    options: ReadOptions | None = ...,
    reading: Reading | None = ...,
    errors: Literal["collect"],
) -> dict[str, Table | DataError]: ...
def read_clients(
    source: Source,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - public interface
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    errors: Literal["raise", "collect"] = "raise",
) -> Any:
    r"""Read one table for each client; a client is called after its file.

    With ``options.client_column`` a file holds the rows of many clients, and they are called as that column says.

    Parameters
    ----------
    source
        A glob pattern, a folder, a list of files, or a mapping from client to file.
    label, id, options, reading
        As in `read`.
    errors
        With ``"collect"`` a file that cannot be used does not stop the others: its client's value
        is the DataError.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "north.csv").write_text("age,label\n31,0\n")
    >>> _ = (folder / "south.csv").write_text("age,label\n")
    >>> read_clients(folder, "label", errors="collect")
    {'north': Table(1 rows, 1 columns, label 'label'), 'south': DataError('data.header-only')}
    >>> _ = (folder / "all.csv").write_text("site,age,label\noslo,31,0\nbergen,45,1\n")
    >>> list(read_clients(folder / "all.csv", "label", options=ReadOptions(client_column="site")))
    ['oslo', 'bergen']
    """
    asked, told = options or ReadOptions(), reading or Reading()

    def reader(path: AnyPath) -> Reader:
        return lambda agreed: read(path, label, id=id, options=asked, reading=Reading({**(agreed or {}), **told}))

    files = client_files(source)
    if asked.client_column is None:
        return read_alike({name: reader(path) for name, path in files.items()}, errors)
    readers: dict[str, Reader] = {}
    found: dict[str, str | Path] = {}
    for name, path in files.items():
        owned = _OwnedFile(path, label, id, asked, told)
        for owner in owned.owners() or [name]:
            if owner in readers:
                raise DataError("formats.two-owners", client=owner, first=shown(found[owner]), second=shown(path))
            readers[owner], found[owner] = partial(owned.table, owner), path
    return read_alike(readers, errors)


@dataclass
class _OwnedFile:
    """A file that holds the rows of many clients, which is read once for each way of reading its columns."""

    path: str | Path
    label: str
    id: str | None
    options: ReadOptions
    told: Reading
    _read: tuple[Reading, OwnedRows] | None = None

    def owners(self) -> list[str]:
        """The clients, or none where the file cannot be read, which reading it will say."""
        try:
            return self._rows(self.told).names
        except DataError:
            return []

    def table(self, owner: str, agreed: Reading | None) -> Table:
        """The table of one client."""
        reading = Reading({**(agreed or {}), **self.told})
        cells = self._rows(reading).cells(owner)
        origin = f"{file_name(self.path)} ({self.options.client_column} {owner})"
        return Table.from_frame(
            cells.frame, self.label, id=self.id, options=self.options, reading=reading, notes=cells.notes, origin=origin
        )

    def _rows(self, reading: Reading) -> OwnedRows:
        if self._read is None or self._read[0] != reading:
            assert self.options.client_column is not None
            with opened(self.path, self.options, reading=reading) as cells, naming(file_name(self.path)):
                self._read = reading, OwnedRows.of(cells, self.options.client_column)
        return self._read[1]


def client_files(source: Source) -> dict[str, str | Path]:
    """Find the file of each client; a database is known by its URL.

    Examples
    --------
    >>> client_files(["data/north.csv.gz"])
    {'north': PosixPath('data/north.csv.gz')}
    """
    if isinstance(source, Mapping):
        return {str(name): _place(path) for name, path in source.items()}
    files: dict[str, str | Path] = {}
    for path in _matches(source):
        name = place_name(path)
        if name in files:
            raise DataError("data.two-files", client=name, first=shown(files[name]), second=shown(path))
        files[name] = path
    if not files:
        raise DataError("data.no-file-matches", pattern=str(source))
    return files


def _place(path: AnyPath) -> str | Path:
    return str(path) if is_url(path) else Path(path)


def _matches(source: AnyPath | Iterable[AnyPath]) -> Sequence[str | Path]:
    if not isinstance(source, str | PathLike):
        return [_place(path) for path in source]
    if is_url(source):
        return [str(source)]
    path = Path(source)
    if path.is_dir():
        found = [] if _is_partitioned(path) else [one for one in path.iterdir() if _is_listed(one)]
        return sorted(found) or [path][: is_table_folder(path)]
    if path.is_file():
        return [path]
    # Path.glob takes no absolute pattern.
    matches = (Path(match) for match in glob.glob(str(source), recursive=True))  # noqa: PTH207
    return sorted(match for match in matches if match.is_file() or is_table_folder(match))


def _is_listed(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    return path.name.lower().endswith(_LISTED) if path.is_file() else is_table_folder(path)


def _is_partitioned(folder: Path) -> bool:
    """Whether folders are called after values of a column, and so hold parts of one table."""
    return any("=" in one.name and one.is_dir() for one in folder.iterdir())


Reader: TypeAlias = Callable[[Reading | None], Table]


def read_alike(
    readers: Mapping[str, Reader], errors: Literal["raise", "collect"] = "raise"
) -> dict[str, Table | DataError]:
    """Read every client by its own guesses, and those that differ from what most say once more, by what most say.

    A reader takes how columns were agreed to be read, or None. With ``"collect"`` a client that cannot be read does not
    stop the others: its value is the DataError.
    """
    found = {name: _tried(reader, None) for name, reader in readers.items()}
    # A column that one client has and all are asked to leave out is no error of the others.
    tables = [table for table in found.values() if isinstance(table, Table)]
    dropped = {name: how for table in tables for name, how in table.reading.items() if isinstance(how, Dropped)}
    if dropped:
        for name, table in found.items():
            if isinstance(table, DataError) and table.code == "data.option-without-column":
                found[name] = _tried(readers[name], Reading(dropped))
    agreed = agreed_reading(table.reading for table in found.values() if isinstance(table, Table))
    if agreed:
        for name, table in found.items():
            # What a client's own guesses do not take, everybody's may.
            if isinstance(table, DataError) or differences(table.reading, agreed):
                found[name] = _tried(readers[name], agreed)
    if errors == "raise":
        for table in found.values():
            if isinstance(table, DataError):
                raise table
    return found


def _tried(reader: Reader, agreed: Reading | None) -> Table | DataError:
    try:
        return reader(agreed)
    except DataError as error:
        return error


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
        names = dict.fromkeys(
            (*(self.agreed or ()), *named_columns(self.options), self.id, self.options.person, self.label)
        )
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
