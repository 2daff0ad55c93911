"""A look at clients' files without reading all of their rows: how many there are, and a sample of them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.errors import DataError

if TYPE_CHECKING:
    from fedbary.data.table import Table

# Files up to this size are read as a whole, which takes no time and tells how many rows there are.
_SMALL_FILE = 8_000_000
_MOST_ROWS = 20_000
_COUNTED_BYTES = 4_000_000


@dataclass(frozen=True, eq=False)
class Peek:
    """What a file holds, as far as its beginning tells; ``problem`` says why it cannot be used."""

    file: Path
    bytes: int = 0
    rows: int = 0
    exact: bool = True
    columns: int = 0
    sample: Table | None = None
    problem: str = ""

    def for_programs(self) -> dict[str, Any]:
        """The same for `write_json`, without the sample."""
        size = {"bytes": self.bytes, "rows": self.rows, "exact": self.exact, "columns": self.columns}
        return {"file": self.file, **size, "problem": self.problem or None}


def peek(path: Path, label: str, row_id: str | None) -> Peek:
    r"""Look at a file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "north.csv"
    >>> _ = path.write_text("age,ill\n31,yes\n45,no\n")
    >>> found = peek(path, "ill", None)
    >>> found.rows, found.columns, found.problem
    (2, 1, '')
    """
    from fedbary.data.files import PARQUET, read, table_suffix

    size = path.stat().st_size if path.is_file() else 0
    try:
        if table_suffix(path) in PARQUET:
            sample = read(path, label, id=row_id, most=_MOST_ROWS)
            rows, exact = _parquet_rows(path), True
        elif size <= _SMALL_FILE:
            sample = read(path, label, id=row_id)
            rows, exact = len(sample), True
        else:
            sample = read(path, label, id=row_id, most=_MOST_ROWS)
            rows, exact = _csv_rows(path, size), False
    except DataError as error:
        return Peek(path, size, problem=str(error))
    return Peek(path, size, rows, exact, len(sample.columns), sample)


def peek_server(path: Path, label: str, row_id: str | None) -> Peek:
    """Look at the reference or the test rows, which need no ids."""
    found = peek(path, label, row_id)
    return peek(path, label, None) if found.problem and row_id is not None else found


def peek_clients(paths: Mapping[str, Path], label: str, row_id: str | None) -> dict[str, Peek]:
    """Look at every client's file."""
    return {name: peek(path, label, row_id) for name, path in paths.items()}


def _parquet_rows(path: Path) -> int:
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

    with ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _csv_rows(path: Path, size: int) -> int:
    """About how many lines, by those at the beginning of the file."""
    if path.name.lower().endswith(".gz"):
        with path.open("rb") as packed, gzip.open(packed) as file:
            lines = file.read(_COUNTED_BYTES).count(b"\n")
            return round(lines * size / max(packed.tell(), 1))
    with path.open("rb") as plain:
        start = plain.read(_COUNTED_BYTES)
    return round(start.count(b"\n") * size / len(start))
