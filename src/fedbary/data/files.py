"""Reading tables from CSV and Parquet files: one file, or one file for each client."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from fedbary.data.table import Table
from fedbary.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

AnyPath: TypeAlias = "str | PathLike[str]"
Source: TypeAlias = "AnyPath | Iterable[AnyPath] | Mapping[str, AnyPath]"

MAX_FILE_BYTES = 4 * 2**30
SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")


def read(path: AnyPath, label: str, *, id: str | None = None, most: int | None = None) -> Table:  # noqa: A002 - public interface
    r"""Read a table from a CSV (``.csv``, ``.csv.gz``, ``.tsv``) or Parquet (``.parquet``, ``.pq``) file.

    Parameters
    ----------
    path
        The file; its suffix says what it is.
    label, id
        The columns that hold the labels and, if there is one, the unique row ids.
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
    with opened(path, most) as frame:
        return Table.from_frame(frame, label, id=id, origin=Path(path).name)


@contextmanager
def opened(path: AnyPath, most: int | None = None) -> Iterator[pd.DataFrame]:
    """The frame that a file holds; what is wrong with the file is a DataError, also where it shows only now."""
    path = Path(path)
    suffix = table_suffix(path)
    if not path.is_file():
        raise DataError("data.no-file", where=str(path))
    size = path.stat().st_size
    if size == 0:
        raise DataError("data.file-empty", where=str(path))
    if size > MAX_FILE_BYTES:
        raise DataError("data.file-too-large", where=str(path), size=size, most=MAX_FILE_BYTES)
    if suffix not in PARQUET:
        yield _read_csv(path, SEPARATORS[suffix], most)
        return
    from pyarrow import ArrowException  # type: ignore[import-untyped]

    try:
        yield _read_parquet(path, most)
    except ArrowException as error:  # its texts are decoded where they are looked at first
        raise DataError("data.not-parquet", where=str(path), why=_one_line(error)) from error


@overload
def read_clients(
    source: Source, label: str, *, id: str | None = ..., errors: Literal["raise"] = ...
) -> dict[str, Table]: ...
@overload
def read_clients(
    source: Source, label: str, *, id: str | None = ..., errors: Literal["collect"]
) -> dict[str, Table | DataError]: ...
def read_clients(
    source: Source,
    label: str,
    *,
    id: str | None = None,  # noqa: A002 - public interface
    errors: Literal["raise", "collect"] = "raise",
) -> Any:
    r"""Read one table for each client; a client is called after its file.

    Parameters
    ----------
    source
        A glob pattern, a folder, a list of files, or a mapping from client to file.
    label, id
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
            clients[name] = read(path, label, id=id)
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
        name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        if name in files:
            raise DataError("data.two-files", client=name, first=str(files[name]), second=str(path))
        files[name] = path
    if not files:
        raise DataError("data.no-file-matches", pattern=str(source))
    return files


def table_suffix(path: Path) -> str:
    """Return the suffix that says how a table is stored, or raise a DataError.

    Examples
    --------
    >>> table_suffix(Path("bank.CSV.gz"))
    '.csv.gz'
    """
    known = (*SEPARATORS, *PARQUET)
    for suffix in known:
        if path.name.lower().endswith(suffix):
            return suffix
    raise DataError("data.file-kind", where=str(path), suffix=path.suffix, known=", ".join(known))


def _matches(source: AnyPath | Iterable[AnyPath]) -> list[Path]:
    if not isinstance(source, str | PathLike):
        return [Path(path) for path in source]
    path = Path(source)
    if path.is_dir():
        stored = (*SEPARATORS, *PARQUET)
        return sorted(f for f in path.iterdir() if f.name.lower().endswith(stored) and f.name[0] != ".")
    if path.is_file():
        return [path]
    # Path.glob takes no absolute pattern.
    found = (Path(match) for match in glob.glob(str(source), recursive=True))  # noqa: PTH207
    return sorted(match for match in found if match.is_file())


def _read_csv(path: Path, separator: str, most: int | None) -> pd.DataFrame:
    import pandas as pd

    # The header is read on its own, as pandas would rename the second of two columns of one name; a row
    # comes along, as pandas would take the surplus cell of rows longer than the header for an index.
    try:
        header = pd.read_csv(
            path, sep=separator, header=None, nrows=2, dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
        frame = pd.read_csv(
            path, sep=separator, encoding="utf-8-sig", low_memory=False, nrows=most, float_precision=_precision()
        )
    except UnicodeDecodeError as error:
        raise DataError("data.not-utf8", where=str(path)) from error
    except Exception as error:  # a damaged file can fail in the parser, in gzip or in zlib
        _refuse_semicolons(path, separator)
        raise DataError("data.not-csv", where=str(path), why=_one_line(error)) from error
    names = [str(name).strip() for name in header.iloc[0]]
    if len(names) == 1:
        _refuse_semicolons(path, separator)
    if "" in names:
        raise DataError("data.column-without-name", where=str(path), position=names.index("") + 1, columns=len(names))
    return frame.set_axis(names, axis=1)


def _precision() -> Literal["round_trip"] | None:
    """Each number as Python reads its text, so that a column that is read as text holds the same ones.

    From pandas 3.1 on that is the default, and asking for it is deprecated.
    """
    import pandas as pd

    major, minor = pd.__version__.split(".")[:2]
    return None if (int(major), int(minor)) >= (3, 1) else "round_trip"


def _refuse_semicolons(path: Path, separator: str) -> None:
    """Spreadsheets of many countries write semicolons, and then often decimal commas, which would be read as text."""
    import gzip
    import zlib

    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8-sig") as file
        ):
            first = file.readline(100_000)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        return
    if separator == "," and first.count(";") > first.count(","):
        raise DataError("data.semicolons", where=str(path))


def _read_parquet(path: Path, most: int | None) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow") if most is None else _parquet_head(path, most)
    except Exception as error:
        raise DataError("data.not-parquet", where=str(path), why=_one_line(error)) from error
    return frame.set_axis([str(name).lstrip("\ufeff").strip() for name in frame.columns], axis=1)


def _parquet_head(path: Path, most: int) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

    with ParquetFile(path) as file:
        batch = next(file.iter_batches(batch_size=most), None)
        table = pa.Table.from_batches([] if batch is None else [batch], schema=file.schema_arrow)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
