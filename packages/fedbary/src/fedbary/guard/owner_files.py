"""What a node keeps for its owner: a log of why something failed or was refused, and when a run ends the row values.

A folder of results holds ``rows.parquet`` and, of at most 100,000 rows, ``rows.csv``; ``schema.json`` and
``target.npy`` as the server sent them; ``owner.json`` with the settings that were in force; and perhaps a report.
Nothing in it is a secret, but all of it is the owner's.

Everything for the log goes through the logger ``fedbary.owner``. At its default level no cell of a table is written:
what a sentence quotes of one, and the words of other packages, are written at the level ``debug`` alone.
"""

from __future__ import annotations

import json
import logging
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.atomic import private_folder, read_npy, write_atomically
from fedbary.errors import DataError, FedbaryError, as_note
from fedbary.forms import array_text, below
from fedbary.notes import Note
from fedbary.space.row_identity import order_digest
from fedbary.space.schema import Schema
from fedbary.strict_json import read_json
from fedbary.valuation.clients import HISTORY_COLUMNS, client_frame
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation, with_rows
from fedbary.valuation.rows import RowFacts, RowRules, ScoredRows
from fedbary.valuation.storage import read_rows, write_rows
from fedbary.wording import as_plain

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.guard.node_config import NodeConfig
    from fedbary.protocols.messages import ClientProtocol, Settings

LOG = "owner.log"
LOGGER = logging.getLogger("fedbary.owner")
_LONGEST_LINE, _MOST_BYTES, _OLD_FILES, _LONGEST_INDEX = 2000, 2**20, 3, 2**20
# Facts that quote a cell or another package, which may quote one.
_QUOTES = frozenset({"example", "row", "text"})
VERSION = 2
_INDEX, _ROWS, _SCHEMA, _TARGET = "owner.json", "rows.parquet", "schema.json", "target.npy"


def log_error(error: Exception, what: str) -> None:
    """Write down why something did not leave; of errors that nobody foresaw also where in the program."""
    note = as_note(error)
    quotes = _QUOTES | ({"why"} if note.code.startswith("data.") else set())
    shown = Note(note.code, {name: fact for name, fact in note.facts.items() if name not in quotes})
    frames = traceback.extract_tb(error.__traceback__) if note.code == "internal.error" else []
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    LOGGER.warning("%s: %s %s%s", what, note.code, as_plain(str(shown), _LONGEST_LINE), place)
    LOGGER.debug("%s", as_plain(str(note), _LONGEST_LINE), exc_info=error)


@contextmanager
def owner_log(home: Path, level: str = "info") -> Iterator[None]:
    """Let the logger write to a file in the owner's folder, and nowhere else: others may carry logs away.

    That holds for what this thread logs: one process may answer for several owners at the same time.
    """
    handler = _OwnersFile(home / LOG, maxBytes=_MOST_BYTES, backupCount=_OLD_FILES, encoding="utf-8", delay=True)
    handler.setFormatter(_WithoutQuotes(quotes=level == "debug"))
    handler.setLevel(level.upper())
    token = _FILE.set(handler)
    try:
        yield
    finally:
        _FILE.reset(token)
        handler.close()


class _ToItsOwner(logging.Filter):
    """Hands a record to the owner whose answer is being made, and lets nobody else see it."""

    def filter(self, record: logging.LogRecord) -> bool:
        file = _FILE.get()
        if file is None:
            return record.levelno >= (logging.root if LOGGER.parent is None else LOGGER.parent).getEffectiveLevel()
        if record.levelno >= file.level:
            file.handle(record)
        return False


_FILE: ContextVar[logging.Handler | None] = ContextVar("owner_log", default=None)
LOGGER.setLevel(logging.DEBUG)  # what is written is decided by whose it is
LOGGER.addFilter(_ToItsOwner())


class _WithoutQuotes(logging.Formatter):
    """Of an exception only its type and where it was raised: its words may quote a cell."""

    def __init__(self, *, quotes: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._quotes = quotes

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        if self._quotes:
            return super().formatException(ei)
        kind, _, place = ei
        return "".join([*traceback.format_tb(place), kind.__name__])


class _OwnersFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, "a", encoding="utf-8", opener=private)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A full disk must not change what leaves."""


def write_private(file: Path, text: str) -> None:
    """Write a text that its owner alone can read, whole or not at all."""
    write_atomically(file, lambda draft: draft.write_text(text, encoding="utf-8"), mode=0o600)


def save_rows(
    client: ClientProtocol,
    asked: Settings,
    rules: RowRules,
    config: NodeConfig,
    *,
    folder: Path,
    table: Table | None,
    head: str | None = None,
) -> None:
    """Row values and flags, for the owner alone; what they cannot be made of does not stop the run.

    With a ``table`` also a report of its rows, which no failure to draw may stop either; ``head`` is the ledger's.
    """
    private_folder(folder)
    try:
        rows = client.row_values()
    except FedbaryError as error:
        write_private(folder / "no-row-values.txt", f"{error}\n")
        return
    state = client.state()
    settings: Settings = getattr(client, "settings", asked)  # a guarded client's are as strict as its policy
    schema = Schema.from_json(array_text(state["schema"])) if "schema" in state else None
    target = state.get("array.points")
    # Only where there is no reference to fit a space to do clients describe themselves, which fixes their label's kind.
    alone = "label_kind" in state and array_text(state["label_kind"]) != ""
    # Of cards a reference's rows show by their moments in the model.
    alone |= settings.name == "cards" and not below(state, "array.model.reference.")
    facts = {
        "protocol": settings.name,
        **asdict(settings),
        **asdict(rules),
        "reference_rows": None if alone else "unknown",
        **({} if target is None else {"sketch_points": len(target)}),
        "label": config.label,
        "id": config.id,
        **({} if head is None else {"ledger_head": head}),
    }
    if table is not None:
        rows = replace(rows, facts=replace(rows.facts, table=order_digest(table)))
    # Of a simulation the server has them, and every one of perhaps a thousand nodes would keep the same.
    sent = (schema, target) if config.partition is None else ()
    view = owner_view(config.name, rows, facts, *sent)
    save_owner_view(view, folder)
    if table is None:
        return
    missing = folder / "no-report.txt"
    try:
        view.report(folder / "report.html", client=config.name, table=table)
        missing.unlink(missing_ok=True)
    except Exception as error:
        write_private(missing, f"{type(error).__name__}: {error}\n")


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
    write_rows((view.row_tables or {})[client], home / _ROWS.removesuffix(".parquet"), mode=0o600)
    if view.schema is not None:
        write_private(home / _SCHEMA, view.schema.to_json())
    if view.target is not None:
        target = np.asarray(view.target, dtype=float)

        def save(draft: Path) -> None:
            with draft.open("wb") as file:  # given a path, NumPy would add a suffix to it
                np.save(file, target, allow_pickle=False)

        write_atomically(home / _TARGET, save, mode=0o600)
    facts = view.row_facts(client).to_json()
    index = {"fedbary": "owner", "version": VERSION, "settings": view.settings, "row_facts": facts}
    write_private(home / _INDEX, json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    return home


def is_owner_folder(folder: str | Path) -> bool:
    """Whether a folder is one that a node wrote for its owner."""
    return (Path(folder) / _INDEX).is_file()


def load_owner_view(folder: str | Path) -> Valuation:
    """Read what a node wrote for its owner."""
    home = Path(folder)
    file = home / _INDEX
    try:
        if file.stat().st_size > _LONGEST_INDEX:
            raise ValueError("it is too large")
        index = read_json(file.read_text(encoding="utf-8"), longest=_LONGEST_INDEX)
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
