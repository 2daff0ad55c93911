"""The owner's own log: why something failed or was refused, in full, in a file that nobody else can read.

Everything goes through the logger ``fedbary.owner``. At its default level no cell of a table is written: what a
sentence quotes of one, and the words of other packages, are written at the level ``debug`` alone.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from fedbary.errors import as_note
from fedbary.notes import Note
from fedbary.wording import as_plain

LOG = "owner.log"
LOGGER = logging.getLogger("fedbary.owner")
_LONGEST_LINE, _MOST_BYTES, _OLD_FILES = 2000, 2**20, 3
# Facts that quote a cell or another package, which may quote one.
_QUOTES = frozenset({"example", "row", "text"})


def log_error(error: Exception, what: str) -> None:
    """Write down why something did not leave."""
    note = as_note(error)
    quotes = _QUOTES | ({"why"} if note.code.startswith("data.") else set())
    shown = Note(note.code, {name: fact for name, fact in note.facts.items() if name not in quotes})
    LOGGER.warning("%s: %s %s%s", what, note.code, as_plain(str(shown), _LONGEST_LINE), _place(error))
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


def _place(error: Exception) -> str:
    """Where in the program; for errors that nobody foresaw."""
    if as_note(error).code != "internal.error":
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
