"""Reading tables from CSV and Parquet files: one file, or one file for each client."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from fedbary.data.formats import SUFFIXES, opened
from fedbary.data.options import ReadOptions
from fedbary.data.places import AnyPath
from fedbary.data.reading import Reading
from fedbary.data.table import Table
from fedbary.errors import DataError

Source: TypeAlias = "AnyPath | Iterable[AnyPath] | Mapping[str, AnyPath]"


def read(
    path: AnyPath,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - public interface
    options: ReadOptions | None = None,
    reading: Reading | None = None,
    most: int | None = None,
) -> Table:
    r"""Read a table from a CSV (``.csv``, ``.csv.gz``, ``.tsv``) or Parquet (``.parquet``, ``.pq``) file.

    Parameters
    ----------
    path
        The file; its suffix says what it is.
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
        table = Table.from_frame(cells.frame, label, id=id, options=asked, reading=reading, origin=Path(path).name)
    return table.replace(notes=(*cells.notes, *table.notes))


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
    """
    clients: dict[str, Table | DataError] = {}
    for name, path in client_files(source).items():
        try:
            clients[name] = read(path, label, id=id, options=options, reading=reading)
        except DataError as error:
            if errors == "raise":
                raise
            clients[name] = error
    return clients


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
        name = _without_suffix(path)
        if name in files:
            raise DataError("data.two-files", client=name, first=str(files[name]), second=str(path))
        files[name] = path
    if not files:
        raise DataError("data.no-file-matches", pattern=str(source))
    return files


def _without_suffix(path: Path) -> str:
    suffix = next((one for one in SUFFIXES if path.name.lower().endswith(one)), path.suffix)
    return path.name[: len(path.name) - len(suffix)]


def _matches(source: AnyPath | Iterable[AnyPath]) -> list[Path]:
    if not isinstance(source, str | PathLike):
        return [Path(path) for path in source]
    path = Path(source)
    if path.is_dir():
        return sorted(f for f in path.iterdir() if f.name.lower().endswith(SUFFIXES) and f.name[0] != ".")
    if path.is_file():
        return [path]
    # Path.glob takes no absolute pattern.
    found = (Path(match) for match in glob.glob(str(source), recursive=True))  # noqa: PTH207
    return sorted(match for match in found if match.is_file())
