"""What a node of a federation keeps for its owner: row values, and what is needed to look at them again.

The folder holds ``rows.parquet`` and, of at most 100,000 rows, ``rows.csv``; ``schema.json`` and ``target.npy`` as the
server sent them; and ``owner.json`` with the settings that were in force. Nothing in it is a secret, but all of it is
the owner's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedbary.data.atomic import write_atomically
from fedbary.data.npy import read_npy
from fedbary.errors import DataError
from fedbary.space.schema import Schema
from fedbary.strict_json import read_json
from fedbary.valuation.clients import HISTORY_COLUMNS, client_frame
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_rows
from fedbary.valuation.rows import RowFacts, ScoredRows
from fedbary.valuation.storage import read_rows, write_rows

VERSION = 2
_INDEX, _ROWS, _SCHEMA, _TARGET = "owner.json", "rows.parquet", "schema.json", "target.npy"
_MOST_BYTES = 2**20
_OWNERS = 0o600


def owner_view(
    client: str, rows: ScoredRows, settings: Mapping[str, Any], schema: Schema | None = None, target: Any = None
) -> Valuation:
    """One owner's view of a run: its own row values, and nothing about anybody else."""
    import pandas as pd

    record = {"client": client, "rows": len(rows), "outcome": Outcome()}
    view = Valuation(
        client_frame([record], spread=1.0),
        pd.DataFrame(columns=list(HISTORY_COLUMNS)),
        {**settings, "owner": client},
        schema=schema,
        target=target,
        outcomes={client: Outcome()},
    )
    return with_rows(view, {client: rows})


def save_owner_view(view: Valuation, folder: str | Path) -> Path:
    """Write an owner's view to a folder that exists; `load_owner_view` reads it back."""
    home, client = Path(folder), str(view.settings["owner"])
    write_rows((view.row_tables or {})[client], home / _ROWS.removesuffix(".parquet"), mode=_OWNERS)
    if view.schema is not None:
        schema = view.schema.to_json()
        write_atomically(home / _SCHEMA, lambda draft: draft.write_text(schema, encoding="utf-8"), mode=_OWNERS)
    if view.target is not None:
        target = np.asarray(view.target, dtype=float)
        write_atomically(home / _TARGET, lambda draft: _save_array(draft, target), mode=_OWNERS)
    facts = view.row_facts(client).to_json()
    index = {"fedbary": "owner", "version": VERSION, "settings": view.settings, "row_facts": facts}
    text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(home / _INDEX, lambda draft: draft.write_text(text + "\n", encoding="utf-8"), mode=_OWNERS)
    return home


def _save_array(draft: Path, array: np.ndarray) -> None:
    with draft.open("wb") as file:  # given a path, NumPy would add a suffix to it
        np.save(file, array, allow_pickle=False)


def is_owner_folder(folder: str | Path) -> bool:
    """Whether a folder is one that a node wrote for its owner."""
    return (Path(folder) / _INDEX).is_file()


def load_owner_view(folder: str | Path) -> Valuation:
    """Read what a node wrote for its owner."""
    home = Path(folder)
    file = home / _INDEX
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ValueError("it is too large")
        index = read_json(file.read_text(encoding="utf-8"), longest=_MOST_BYTES)
        if index["fedbary"] != "owner" or index["version"] != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        settings, client = dict(index["settings"]), str(index["settings"]["owner"])
        rows = read_rows(home / _ROWS, RowFacts.from_json(index["row_facts"]))
        schema, target = home / _SCHEMA, home / _TARGET
        return owner_view(
            client,
            rows,
            settings,
            Schema.load(schema) if schema.is_file() else None,
            read_npy(target.read_bytes()) if target.is_file() else None,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError("guard.not-an-owner-folder", folder=str(home), why=str(error)) from error
