"""A result on disk: JSON, CSV and Parquet, versioned, sealed by digests, no pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fedbary.data.atomic import read_npy, write_atomically
from fedbary.data.export import write
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.valuation.clients import ClientScores
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowFacts, ScoredRows

if TYPE_CHECKING:
    import pandas as pd

Part = TypeVar("Part")

VERSION = 3
_INDEX = "valuation.json"
# What `load` reads besides the index and the rows; CSV is for people, who may edit it.
_READ = ("clients.parquet", "history.parquet", "schema.json", "target.npy", "scores.json")
_FILES = (_INDEX, *_READ, "clients.csv", "history.csv", "scores.csv")
# Rows of which CSV is written besides, and that are read into memory as a whole.
MOST_IN_CSV = 100_000


def save(result: Valuation, folder: str | Path) -> Path:
    """Write ``valuation.json``, ``clients.csv``, ``history.csv``, ``schema.json`` and ``rows/*.parquet``.

    Of clients with at most 100,000 rows also ``rows/*.csv``.
    """
    home = Path(folder)
    rows = {name: _outside(scored, home) for name, scored in (result.row_tables or {}).items()}
    check_output(home)
    for file in _own_files(home):  # so that none of an earlier result's is taken for this one's
        file.unlink(missing_ok=True)
    (home / "rows").mkdir(parents=True, exist_ok=True)
    for suffix in ("parquet", "csv"):
        write(result.clients, home / f"clients.{suffix}")
        write(result.history, home / f"history.{suffix}")
    files = row_file_names([str(name) for name in rows])
    for name, scored in rows.items():
        write_rows(scored, home / "rows" / files[name])
    if result.schema is not None:
        result.schema.save(home / "schema.json")
    if result.target is not None:
        np.save(home / "target.npy", np.asarray(result.target, dtype=float), allow_pickle=False)
    if result.scores is not None:
        result.scores.save(home / "scores.json")
        write(result.scores.to_frame(), home / "scores.csv")
    read_back = [home / name for name in _READ if (home / name).is_file()] + sorted(home.glob("rows/*.parquet"))
    index = {
        "fedbary": "valuation",
        "version": VERSION,
        "settings": result.settings,
        "notes": [note.to_json() for note in result.notes],
        "outcomes": {name: outcome.to_json() for name, outcome in result.outcomes.items()},
        "rows": None if result.row_tables is None else files,
        "row_facts": {name: scored.facts.to_json() for name, scored in rows.items()},
        "files": {file.relative_to(home).as_posix(): _file_digest(file) for file in read_back},
    }
    text = json.dumps({**index, "digest": _digest(index)}, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(home / _INDEX, lambda draft: draft.write_text(text + "\n", encoding="utf-8"))
    return home


def load(folder: str | Path) -> Valuation:
    """Read a result folder; one in which anything was lost or changed since it was saved is refused."""
    import pandas as pd

    home = Path(folder)
    index = _read_index(home)

    def part(name: str) -> Path:
        """A file of the result, as it was saved."""
        file = home / name
        if not file.is_file():
            raise DataError("valuation.part-missing", folder=str(home), file=name)
        if _file_digest(file) != index["files"][name]:
            raise DataError("valuation.part-damaged", file=str(file), why="it was changed")
        return file

    def scored(name: str, file: str) -> ScoredRows:
        facts = index["row_facts"][name]
        return _intact(lambda path: read_rows(path, RowFacts.from_json(facts)), part(f"rows/{_safe(file)}.parquet"))

    try:
        rows = None if index["rows"] is None else {name: scored(name, file) for name, file in index["rows"].items()}
        return Valuation(
            clients=_intact(pd.read_parquet, part("clients.parquet")),
            history=_intact(pd.read_parquet, part("history.parquet")),
            settings=dict(index["settings"]),
            schema=Schema.load(part("schema.json")) if "schema.json" in index["files"] else None,
            target=read_npy(part("target.npy").read_bytes()) if "target.npy" in index["files"] else None,
            notes=tuple(Note.from_json(note) for note in index["notes"]),
            scores=ClientScores.load(part("scores.json")) if "scores.json" in index["files"] else None,
            outcomes={name: Outcome.from_json(outcome) for name, outcome in index["outcomes"].items()},
            _rows=rows,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # sealed, but by nobody who knew the format
        raise DataError("valuation.result-damaged", file=str(home / _INDEX), why=repr(error)) from error


def check_output(folder: str | Path) -> None:
    """Refuse a folder in which saving would touch files that no fedbary result wrote."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError("valuation.not-a-folder", path=str(home))
    own = _own_files(home)
    planned = [home / name for name in _FILES] + [file for file in home.glob("rows/*") if file.is_file()]
    foreign = [file for file in planned if file.exists() and file not in own]
    if foreign:
        raise DataError("valuation.foreign-file", folder=str(home), file=str(foreign[0].relative_to(home)))


def _own_files(home: Path) -> set[Path]:
    """Files that an earlier result in this folder wrote, as its index says."""
    try:
        rows = (_read_index(home)["rows"] or {}).values()
        names = [f"rows/{_safe(name)}{suffix}" for name in rows for suffix in (".parquet", ".csv")]
    except (DataError, KeyError, TypeError, AttributeError):
        return set()
    return {home / name for name in (*_FILES, *names)}


def row_file_names(clients: list[str]) -> dict[str, str]:
    """A file name for each client that is safe on every system, whatever the client is called."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for client in clients:
        letters = [one if one.isascii() and (one.isalnum() or one in ".-") else "_" for one in client[:200]]
        plain = "_".join(filter(None, "".join(letters).split("_")))  # one underscore for any run of odd letters
        name = stem = plain.strip("._")[:80] or "client"
        number = 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.lower())
        names[client] = name
    return names


def _read_index(home: Path) -> dict[str, Any]:
    file = home / _INDEX
    if not file.is_file():
        raise DataError("valuation.no-result", folder=str(home), file=_INDEX)
    try:
        index = dict(json.loads(file.read_text(encoding="utf-8")))
        version, digest = index["version"], index.pop("digest", None)
        intact = digest == _digest(index)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError("valuation.result-damaged", file=str(file), why=str(error)) from error
    if version != VERSION:
        raise DataError("valuation.other-version", file=str(file), version=repr(version)[:40], own=VERSION)
    if not intact:
        raise DataError("valuation.result-damaged", file=str(file), why="it was changed")
    return index


def _intact(read: Callable[[Path], Part], file: Path) -> Part:
    try:
        return read(file)
    except (ValueError, OSError) as error:  # pyarrow's errors are among these
        raise DataError("valuation.part-damaged", file=str(file), why=str(error)) from error


def _file_digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _digest(index: dict[str, Any]) -> str:
    """Of an index as it will be read back: JSON makes every key a text, and then they sort alike."""
    content = json.loads(json.dumps(index, allow_nan=False))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _safe(file: str) -> str:
    if file != Path(file).name:
        raise DataError("valuation.file-outside", file=file)
    return file


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

    Where it is not such a file, a ValueError or OSError.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    if pq.read_metadata(file).num_rows > MOST_IN_CSV:
        return ScoredRows(_StoredRows(file, file.stat().st_size, file.stat().st_mtime_ns), facts)
    return ScoredRows.of(pd.read_parquet(file), facts)


def _outside(scored: ScoredRows, folder: Path) -> ScoredRows:
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

        def column(file: Path) -> pd.Series[Any]:
            facts = file.stat()
            if (facts.st_size, facts.st_mtime_ns) != (self.size, self.changed):
                raise ValueError("it was changed since the result was loaded")
            return pd.read_parquet(file, columns=[name])[name]

        return _intact(column, self.file)

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
