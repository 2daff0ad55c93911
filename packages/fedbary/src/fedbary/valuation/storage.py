"""A result on disk: JSON, CSV and Parquet, versioned, sealed by digests, no pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.atomic import write_atomically
from fedbary.data.export import write
from fedbary.data.npy import read_npy
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.row_file import apart_from, read_rows, write_rows
from fedbary.valuation.scored_rows import RowFacts, ScoredRows
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

VERSION = 3
_INDEX = "valuation.json"
_FILES = (
    _INDEX, "clients.parquet", "clients.csv", "history.parquet", "history.csv", "schema.json", "target.npy",
    "scores.json", "scores.csv",
)  # fmt: skip
# What `load` reads besides the index and the rows; CSV is for people, who may edit it.
_READ = ("clients.parquet", "history.parquet", "schema.json", "target.npy", "scores.json")


def save(result: Valuation, folder: str | Path) -> Path:
    """Write ``valuation.json``, ``clients.csv``, ``history.csv``, ``schema.json`` and ``rows/*.parquet``.

    Of clients with at most 100,000 rows also ``rows/*.csv``.
    """
    home = Path(folder)
    held = {name: apart_from(scored, home) for name, scored in (result.row_tables or {}).items()}
    _clear(home)
    (home / "rows").mkdir(parents=True, exist_ok=True)
    write(result.clients, home / "clients.parquet")
    write(result.clients, home / "clients.csv")
    write(result.history, home / "history.parquet")
    write(result.history, home / "history.csv")
    files = row_file_names([str(name) for name in held])
    for name, scored in held.items():
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
        "row_facts": {name: scored.facts.to_json() for name, scored in held.items()},
        "files": {file.relative_to(home).as_posix(): _file_digest(file) for file in read_back},
    }
    text = json.dumps({**index, "digest": _digest(index)}, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(home / _INDEX, lambda draft: draft.write_text(text + "\n", encoding="utf-8"))
    return home


def load(folder: str | Path) -> Valuation:
    """Read a result folder; one in which anything was lost or changed since it was saved is refused."""
    home = Path(folder)
    index = _read_index(home)
    try:
        return _loaded(home, index)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # sealed, but by nobody who knew the format
        raise DataError("valuation.result-damaged", file=str(home / _INDEX), why=repr(error)) from error


def _loaded(home: Path, index: dict[str, Any]) -> Valuation:
    from fedbary.valuation.result import Valuation

    files, rows = index["files"], None
    if index["rows"] is not None:
        rows = {
            name: _rows(_part(home, f"rows/{_safe(file)}.parquet", files), index["row_facts"][name])
            for name, file in index["rows"].items()
        }
    return Valuation(
        clients=_frame(home, "clients.parquet", files),
        history=_frame(home, "history.parquet", files),
        settings=dict(index["settings"]),
        schema=Schema.load(_part(home, "schema.json", files)) if "schema.json" in files else None,
        target=read_npy(_part(home, "target.npy", files).read_bytes()) if "target.npy" in files else None,
        notes=tuple(Note.from_json(note) for note in index["notes"]),
        scores=ClientScores.load(_part(home, "scores.json", files)) if "scores.json" in files else None,
        outcomes={name: Outcome.from_json(outcome) for name, outcome in index["outcomes"].items()},
        _rows=rows,
    )


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


def _clear(home: Path) -> None:
    """Remove an earlier result's files, so that none of them is taken for this one's."""
    check_output(home)
    for file in _own_files(home):
        file.unlink(missing_ok=True)


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
        stem = _plain_letters(client[:200]).strip("._")[:80] or "client"
        name, number = stem, 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.lower())
        names[client] = name
    return names


def _plain_letters(text: str) -> str:
    """A text with one underscore for any run of letters that not every file system takes."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in ".-") else "_" for letter in text)
    return "_".join(part for part in plain.split("_") if part)


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


def _part(home: Path, name: str, digests: Mapping[str, str]) -> Path:
    """A file of the result, as it was saved."""
    file = home / name
    if not file.is_file():
        raise DataError("valuation.part-missing", folder=str(home), file=name)
    if _file_digest(file) != digests[name]:
        raise DataError("valuation.part-damaged", file=str(file), why="it was changed")
    return file


def _file_digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _digest(index: dict[str, Any]) -> str:
    """Of an index as it will be read back: JSON makes every key a text, and then they sort alike."""
    content = json.loads(json.dumps(index, allow_nan=False))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _frame(home: Path, name: str, digests: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    file = _part(home, name, digests)
    try:
        return pd.read_parquet(file)
    except (ValueError, OSError) as error:  # pyarrow's errors are among these
        raise DataError("valuation.part-damaged", file=str(file), why=str(error)) from error


def _rows(file: Path, facts: Mapping[str, Any]) -> ScoredRows:
    try:
        return read_rows(file, RowFacts.from_json(facts))
    except (ValueError, OSError) as error:
        raise DataError("valuation.part-damaged", file=str(file), why=str(error)) from error


def _safe(file: str) -> str:
    if file != Path(file).name:
        raise DataError("valuation.file-outside", file=file)
    return file
