"""Feather files, which are Arrow's own format; streams of Arrow, as Hugging Face keeps them, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbary.data.formats.cells import Cells
from fedbary.data.formats.damage import readable, refuse_cells
from fedbary.data.formats.parquet import as_frame

FEATHER = (".feather", ".arrow", ".ipc")
_FILE, _FIRST_VERSION = b"ARROW1", b"FEA1"


def read_feather(path: Path, most: int | None, *, alone: bool = False) -> Cells:
    """The columns of a Feather file."""
    import pyarrow as pa

    with readable(path, "Feather"), _source(path) as (schema, batches):
        found, rows = [], 0
        for batch in batches:
            found.append(batch)
            rows += batch.num_rows
            refuse_cells(path, rows, len(schema))
            if most is not None and rows >= most:
                break
        return Cells(as_frame(pa.Table.from_batches(found, schema).slice(0, most), alone=alone))


def feather_chunks(path: Path, rows: int) -> Iterator[Cells]:
    """The columns of a Feather file, so many rows at a time."""
    with readable(path, "Feather"), _source(path) as (_, batches):
        for batch in batches:
            for start in range(0, batch.num_rows, rows):
                yield Cells(as_frame(batch.slice(start, rows)))


@contextmanager
def _source(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches, whose buffers are checked: Arrow trusts what a file says of its texts' lengths."""
    import pyarrow as pa

    with path.open("rb") as file:
        magic = file.read(len(_FILE))
    if magic.startswith(_FIRST_VERSION):
        raise ValueError("the first version of Feather, which nothing has written since 2020")
    with pa.OSFile(str(path)) as source:
        if magic == _FILE:
            reader = pa.ipc.open_file(source)
            batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
        else:
            reader = pa.ipc.open_stream(source)
            batches = iter(reader)
        yield reader.schema, (_checked(batch) for batch in batches)


def _checked(batch: Any) -> Any:
    batch.validate(full=True)
    return batch
