"""Feather files, which are Arrow's own format; streams of Arrow, as Hugging Face keeps them, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbary.data.formats.cells import Cells, Wanted
from fedbary.data.formats.damage import readable, refuse_cells
from fedbary.data.formats.parquet import as_frame, wanted_fields

FEATHER = (".feather", ".arrow", ".ipc")
_FILE, _FIRST_VERSION = b"ARROW1", b"FEA1"


def read_feather(path: Path, most: int | None, *, alone: Wanted | None = None) -> Cells:
    """The columns of a Feather file."""
    import pyarrow as pa

    with readable(path, "Feather"), feather_rows(path) as source:
        columns = None if alone is None else wanted_fields(source.schema, alone)
        found, rows = [], 0
        for batch in source.batches(columns=columns, any_cells=alone is not None):
            found.append(batch)
            rows += batch.num_rows
            refuse_cells(path, rows, len(source.schema))
            if most is not None and rows >= most:
                break
        schema = found[0].schema if found else source.schema
        return Cells(as_frame(pa.Table.from_batches(found, schema).slice(0, most), alone=alone is not None))


class FeatherRows:
    """One Feather file, whose buffers are checked: Arrow trusts what a file says of its texts' lengths."""

    def __init__(self, source: Any, *, stream: bool) -> None:
        self._source, self._stream = source, stream
        self.schema = self._reader().schema

    def cells(self) -> int:
        """About how many cells they have; the file says only how many bytes."""
        return int(self._source.size()) // 4

    def batches(
        self, rows: int | None = None, columns: Sequence[str] | None = None, *, any_cells: bool = False
    ) -> Iterator[Any]:
        """The rows in order, at most so many at a time or as they are stored, and these columns of them.

        With ``any_cells`` a text that is no UTF-8 or a date that is none is not looked for, but left to whoever reads.
        """
        import pyarrow as pa

        places = None if columns is None else [self.schema.get_field_index(name) for name in columns]
        reader = self._reader(pa.ipc.IpcReadOptions(included_fields=places))
        stored = reader if self._stream else map(reader.get_batch, range(reader.num_record_batches))
        for batch in stored:
            for column in batch.columns:
                (_as_stored(column) if any_cells else column).validate(full=True)
            yield from (batch.slice(start, rows) for start in range(0, batch.num_rows, rows or max(batch.num_rows, 1)))

    def _reader(self, options: Any = None) -> Any:
        import pyarrow as pa

        self._source.seek(0)
        return (pa.ipc.open_stream if self._stream else pa.ipc.open_file)(self._source, options=options)


def _as_stored(column: Any) -> Any:
    """The same buffers, of a type that allows any bytes for a cell."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_string(kind):
        return column.view(pa.binary())
    if types.is_large_string(kind):
        return column.view(pa.large_binary())
    if types.is_decimal(kind):
        return column.view(pa.binary(kind.bit_width // 8))
    if types.is_date(kind) or types.is_time(kind):
        return column.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    return column


@contextmanager
def feather_rows(path: Path) -> Iterator[FeatherRows]:
    """An open file."""
    import pyarrow as pa

    with path.open("rb") as file:
        magic = file.read(len(_FILE))
    if magic.startswith(_FIRST_VERSION):
        raise ValueError("the first version of Feather, which nothing has written since 2020")
    with pa.OSFile(str(path)) as source:
        yield FeatherRows(source, stream=magic != _FILE)
