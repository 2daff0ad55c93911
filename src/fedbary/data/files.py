"""Reading tables from files, folders and databases: one, or one for each client."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from fedbary.data.formats import SUFFIXES, is_table_folder, opened
from fedbary.data.options import ReadOptions
from fedbary.data.owners import without_column
from fedbary.data.places import AnyPath, file_name, place_name
from fedbary.data.reading import Reading
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
) -> Table:
    r"""Read a table from a file, a folder of Parquet files or a database.

    Files are CSV (``.csv``, ``.tsv``, ``.txt``, also in ``.gz`` or ``.zip``), Parquet (``.parquet``), Feather
    (``.feather``), JSON lines (``.jsonl``, ``.json``) or Excel (``.xlsx``).

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
    with opened(path, asked, most, reading=reading) as cells:
        frame = without_column(cells.frame, asked.client_column)
        table = Table.from_frame(frame, label, id=id, options=asked, reading=reading, origin=file_name(path))
    return table.replace(notes=(*cells.notes, *table.notes))


def client_files(source: Source) -> dict[str, Path]:
    """Find the file of each client.

    Examples
    --------
    >>> client_files(["data/north.csv.gz"])
    {'north': PosixPath('data/north.csv.gz')}
    """
    if isinstance(source, Mapping):
        return {str(name): Path(path) for name, path in source.items()}
    files: dict[str, Path] = {}
    for path in _matches(source):
        name = place_name(path)
        if name in files:
            raise DataError("data.two-files", client=name, first=str(files[name]), second=str(path))
        files[name] = path
    if not files:
        raise DataError("data.no-file-matches", pattern=str(source))
    return files


def _matches(source: AnyPath | Iterable[AnyPath]) -> list[Path]:
    if not isinstance(source, str | PathLike):
        return [Path(path) for path in source]
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
