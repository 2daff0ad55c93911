"""A result on disk: JSON, CSV and Parquet, versioned, no pickle."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.export import write
from fedbary.errors import DataError
from fedbary.space.schema import Schema
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

VERSION = 1
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
    files = row_file_names([str(name) for name in result.row_tables])
    for name, frame in result.row_tables.items():
        write(frame, home / "rows" / f"{files[name]}.parquet")
        write(frame, home / "rows" / f"{files[name]}.csv")
    if result.schema is not None:
        result.schema.save(home / "schema.json")
    if result.target is not None:
        np.save(home / "target.npy", np.asarray(result.target, dtype=float), allow_pickle=False)
    if result.scores is not None:
        result.scores.save(home / "scores.json")
        write(result.scores.to_frame(), home / "scores.csv")
    statuses = dict(zip(result.clients["client"], result.clients["status"], strict=True))
    index = {
        "fedbary": "valuation",
        "version": VERSION,
        "settings": result.settings,
        "notes": list(result.notes),
        "rows": files if result.has_rows else None,
        "told": {name: words for name, words in result.told.items() if words != statuses[name]},
    }
    text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
    (home / _INDEX).write_text(text + "\n", encoding="utf-8")
    return home


def load(folder: str | Path) -> Valuation:
    """Read a result folder."""
    import pandas as pd

    from fedbary.valuation.result import Valuation

    home = Path(folder)
    index = _read_index(home)
    rows = None
    if index["rows"] is not None:
        rows = {name: pd.read_parquet(home / "rows" / f"{_safe(file)}.parquet") for name, file in index["rows"].items()}
    schema, target, scores = home / "schema.json", home / "target.npy", home / "scores.json"
    return Valuation(
        clients=pd.read_parquet(home / "clients.parquet"),
        history=pd.read_parquet(home / "history.parquet"),
        settings=index["settings"],
        schema=Schema.load(schema) if schema.is_file() else None,
        target=np.load(target, allow_pickle=False) if target.is_file() else None,
        notes=tuple(index["notes"]),
        scores=ClientScores.load(scores) if scores.is_file() else None,
        _rows=rows,
        _told=dict(index.get("told", {})),
    )


def check_output(folder: str | Path) -> None:
    """Refuse a folder in which saving would touch files that no fedbary result wrote."""
    home = Path(folder)
    if home.exists() and not home.is_dir():
        raise DataError(f"'{home}' is a file: choose a folder to write to.")
    own = _own_files(home)
    planned = [home / name for name in _FILES] + [file for file in home.glob("rows/*") if file.is_file()]
    foreign = [file for file in planned if file.exists() and file not in own]
    if foreign:
        raise DataError(
            f"'{home}' holds {foreign[0].relative_to(home)}, which is not from an earlier fedbary result and would be "
            "overwritten: choose another folder."
        )


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
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", client).strip("._")[:80] or "client"
        name, number = stem, 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name.lower())
        names[client] = name
    return names


def _read_index(home: Path) -> dict[str, Any]:
    file = home / _INDEX
    if not file.is_file():
        raise DataError(f"'{home}' holds no fedbary result (there is no {_INDEX}): check the folder.")
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
        version = index["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"'{file}' is not a fedbary result ({error}): run the valuation again.") from error
    if version != VERSION:
        raise DataError(
            f"'{file}' has version {version!r}, this fedbary reads version {VERSION}: "
            "open it with the fedbary that wrote it."
        )
    return dict(index)


def _safe(file: str) -> str:
    if file != Path(file).name:
        raise DataError(f"The result names a file {file!r} outside its own folder: do not trust this result.")
    return file
