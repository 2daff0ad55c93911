"""Reading tables from files, folders and databases: one, or one for each client."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from fedbary.columns.arrays import naming
from fedbary.data.alike import Reader, read_alike
from fedbary.data.formats import SUFFIXES, is_table_folder, opened
from fedbary.data.formats.cells import OwnedRows, without_column
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath, file_name, is_url, place_name, shown
from fedbary.data.reading import Reading
from fedbary.data.stored import stored_table
from fedbary.data.table import Table
from fedbary.errors import DataError

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
