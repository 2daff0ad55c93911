"""A result on disk: JSON, CSV and Parquet, versioned, no pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.atomic import write_atomically
from fedbary.data.export import write
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.schema import Schema
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.scored_rows import RowFacts, ScoredRows
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

VERSION = 2
_INDEX = "valuation.json"
_FILES = (
    _INDEX, "clients.parquet", "clients.csv", "history.parquet", "history.csv", "schema.json", "target.npy",
    "scores.json", "scores.csv",
)  # fmt: skip


def save(result: Valuation, folder: str | Path) -> Path:
    """Write ``valuation.json``, ``clients.csv``, ``history.csv``, ``schema.json`` and ``rows/*.parquet``, ``.csv``."""
    home = Path(folder)
    _clear(home)
    (home / "rows").mkdir(parents=True, exist_ok=True)
    write(result.clients, home / "clients.parquet")
    write(result.clients, home / "clients.csv")
    write(result.history, home / "history.parquet")
    write(result.history, home / "history.csv")
    held = result.row_tables or {}
    files = row_file_names([str(name) for name in held])
    for name, scored in held.items():
        write(scored.frame, home / "rows" / f"{files[name]}.parquet")
        write(scored.frame, home / "rows" / f"{files[name]}.csv")
    if result.schema is not None:
        result.schema.save(home / "schema.json")
    if result.target is not None:
        np.save(home / "target.npy", np.asarray(result.target, dtype=float), allow_pickle=False)
    if result.scores is not None:
        result.scores.save(home / "scores.json")
        write(result.scores.to_frame(), home / "scores.csv")
    index = {
        "fedbary": "valuation",
        "version": VERSION,
        "settings": result.settings,
        "notes": [note.to_json() for note in result.notes],
        "outcomes": {name: outcome.to_json() for name, outcome in result.outcomes.items()},
        "rows": None if result.row_tables is None else files,
        "row_facts": {name: scored.facts.to_json() for name, scored in held.items()},
    }
    text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(home / _INDEX, lambda draft: draft.write_text(text + "\n", encoding="utf-8"))
    return home


def load(folder: str | Path) -> Valuation:
    """Read a result folder."""
    from fedbary.valuation.result import Valuation

    home = Path(folder)
    index = _read_index(home)
    rows = None
    if index["rows"] is not None:
        rows = {
            name: ScoredRows(
                _read_frame(home, f"rows/{_safe(file)}.parquet"),
                RowFacts.from_json(index["row_facts"][name]),
            )
            for name, file in index["rows"].items()
        }
    schema, target, scores = home / "schema.json", home / "target.npy", home / "scores.json"
    return Valuation(
        clients=_read_frame(home, "clients.parquet"),
        history=_read_frame(home, "history.parquet"),
        settings=index["settings"],
        schema=Schema.load(schema) if schema.is_file() else None,
        target=np.load(target, allow_pickle=False) if target.is_file() else None,
        notes=tuple(Note.from_json(note) for note in index["notes"]),
        scores=ClientScores.load(scores) if scores.is_file() else None,
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
    except DataError:
        return set()
    names = [f"rows/{_safe(name)}{suffix}" for name in rows for suffix in (".parquet", ".csv")]
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
        index = json.loads(file.read_text(encoding="utf-8"))
        version = index["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError("valuation.result-damaged", file=str(file), why=str(error)) from error
    if version != VERSION:
        raise DataError("valuation.other-version", file=str(file), version=repr(version), own=VERSION)
    return dict(index)


def _read_frame(home: Path, file: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(home / file)
    except FileNotFoundError as error:
        raise DataError("valuation.part-missing", folder=str(home), file=file) from error
    except (ValueError, OSError) as error:  # pyarrow's errors are among these
        raise DataError("valuation.part-damaged", file=str(home / file), why=str(error)) from error


def _safe(file: str) -> str:
    if file != Path(file).name:
        raise DataError("valuation.file-outside", file=file)
    return file
