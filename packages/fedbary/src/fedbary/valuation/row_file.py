"""Row values on disk: Parquet for programs, a part at a time, and CSV for people where a spreadsheet opens it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.atomic import write_atomically
from fedbary.data.export import write
from fedbary.errors import DataError
from fedbary.valuation.scored_rows import RowFacts, ScoredRows

if TYPE_CHECKING:
    import pandas as pd

# Rows of which CSV is written besides, and that are read into memory as a whole.
MOST_IN_CSV = 100_000


def write_rows(scored: ScoredRows, stem: Path, *, mode: int = 0o666) -> list[Path]:
    """Write ``stem.parquet`` and, of at most 100,000 rows, ``stem.csv``, which a larger table before may have left."""
    parquet, csv = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("parquet", "csv"))
    try:
        write_atomically(parquet, lambda draft: _write_parquet(scored, draft), mode=mode)
    except OSError as error:
        raise DataError("data.file-unwritable", where=str(parquet), why=error.strerror) from error
    if len(scored) > MOST_IN_CSV:
        csv.unlink(missing_ok=True)
        return [parquet]
    return [parquet, write(scored.frame, csv, mode=mode)]


def read_rows(file: Path, facts: RowFacts) -> ScoredRows:
    """What `write_rows` wrote to ``file``; of more than 100,000 rows a column is read when it is asked for.

    Raises
    ------
    ValueError, OSError
        Where it is not such a file.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    if pq.read_metadata(file).num_rows > MOST_IN_CSV:
        return ScoredRows(_StoredRows(file, file.stat().st_size, file.stat().st_mtime_ns), facts)
    return ScoredRows.of(pd.read_parquet(file), facts)


def apart_from(scored: ScoredRows, folder: Path) -> ScoredRows:
    """Row values that do not lie in a folder whose files are about to be replaced."""
    columns = scored.columns
    if isinstance(columns, _StoredRows) and columns.file.resolve().is_relative_to(folder.resolve()):
        return ScoredRows(dict(columns.items()), scored.facts)
    return scored


def _write_parquet(scored: ScoredRows, draft: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    try:
        for frame in scored.batches():
            part = pa.Table.from_pandas(frame, schema=None if writer is None else writer.schema, preserve_index=False)
            writer = writer or pq.ParquetWriter(draft, part.schema)
            writer.write_table(part)
        if writer is None:  # a file of no rows has columns, too
            pq.write_table(pa.Table.from_pandas(scored.frame, preserve_index=False), draft)
    finally:
        if writer is not None:
            writer.close()


@dataclass(frozen=True)
class _StoredRows(Mapping[str, Any]):
    """Columns of row values that stay in their file: each is read whenever it is asked for, and none is kept."""

    file: Path
    size: int
    changed: int

    def __getitem__(self, name: str) -> pd.Series[Any]:
        import pandas as pd

        if name not in self._names:
            raise KeyError(name)
        try:
            facts = self.file.stat()
            if (facts.st_size, facts.st_mtime_ns) != (self.size, self.changed):
                raise ValueError("it was changed since the result was loaded")
            column: pd.Series[Any] = pd.read_parquet(self.file, columns=[name])[name]
        except (ValueError, OSError) as error:  # pyarrow's errors are among these
            raise DataError("valuation.part-damaged", file=str(self.file), why=str(error)) from error
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    @cached_property
    def _names(self) -> tuple[str, ...]:
        import pyarrow.parquet as pq

        return tuple(pq.read_schema(self.file).names)
