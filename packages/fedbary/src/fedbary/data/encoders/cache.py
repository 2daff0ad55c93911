"""Encoded cells that are kept on the owner's machine: a cell is looked up by its content and the encoder's digest.

``FEDBARY_CACHE`` names the folder (default: the user's cache), and with ``FEDBARY_CACHE=off`` nothing is kept. Whatever
goes wrong with the cache, cells are encoded as if there were none.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from fedbary.data.atomic import private_folder
from fedbary.data.encoders.encoder import Block, Encoder

MOST_BYTES = 2**30
_SECONDS = 5.0
_AT_ONCE = 500  # names in one question, of which SQLite takes a limited number


def cache_folder() -> Path:
    """Where encoded cells and fetched data sets are kept: ``$FEDBARY_CACHE``, or the user's cache."""
    named = os.environ.get("FEDBARY_CACHE", "off")
    return user_cache_path("fedbary", appauthor=False) if named in ("", "off") else Path(named)


class EncodingCache:
    """Rows by key, of one encoder; the oldest go where there are too many."""

    def __init__(self, encoder: Encoder, alone: bool, connection: sqlite3.Connection) -> None:
        # A row that was encoded among others may differ in its last digit from one that was encoded alone.
        self._beginning = f"{encoder.digest} {'alone' if alone else 'batch'} ".encode()
        self._width = encoder.width
        self._connection = connection

    def key(self, content: Sequence[object]) -> bytes:
        """The name under which a cell of this content is kept."""
        total = hashlib.sha256(self._beginning)
        for part in content:
            told = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
            total.update(len(told).to_bytes(8, "big") + told)
        return total.digest()

    def found(self, keys: Sequence[bytes]) -> dict[bytes, Block]:
        """The rows that are known."""
        known: dict[bytes, Block] = {}
        with suppress(sqlite3.Error):
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                asked = f"SELECT key, numbers FROM encoded WHERE key IN ({marks})"  # noqa: S608 - question marks only
                for key, numbers in self._connection.execute(asked, some):
                    if isinstance(numbers, bytes) and len(numbers) == 4 * self._width:
                        row: Block = np.frombuffer(numbers, dtype="<f4").astype(np.float32)
                        if np.isfinite(row).all():
                            known[key] = row
        return known

    def keep(self, rows: Mapping[bytes, Block]) -> None:
        """Add rows, and make room for them."""
        now = time.time()
        kept = [(key, row.astype("<f4").tobytes(), now) for key, row in rows.items()]
        with suppress(sqlite3.Error), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO encoded VALUES (?, ?, ?)", kept)
            asked = ("page_count", "freelist_count", "page_size")
            pages, free, size = (self._connection.execute(f"PRAGMA {what}").fetchone()[0] for what in asked)
            if (pages - free) * size > MOST_BYTES:
                self._connection.execute(
                    "DELETE FROM encoded WHERE at <= "
                    "(SELECT at FROM encoded ORDER BY at LIMIT 1 OFFSET (SELECT count(*) / 4 FROM encoded))"
                )


@contextmanager
def encoding_cache(encoder: Encoder, alone: bool) -> Iterator[EncodingCache | None]:
    """The cache of an encoder, or None where a cell is encoded faster than found, or nothing may be kept."""
    if not encoder.costly or os.environ.get("FEDBARY_CACHE") == "off":
        yield None
        return
    connection = _connected(cache_folder() / "encodings")
    if connection is None:
        yield None
        return
    with closing(connection):
        yield EncodingCache(encoder, alone, connection)


def _connected(folder: Path) -> sqlite3.Connection | None:
    try:
        file = private_folder(folder) / "encoded.sqlite"
        try:
            return _opened(file)
        except sqlite3.OperationalError:  # somebody else is writing for long
            return None
        except sqlite3.DatabaseError:
            file.unlink(missing_ok=True)  # a damaged cache is nothing but lost time
            return _opened(file)
    except (OSError, sqlite3.Error):
        return None


def _opened(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=_SECONDS)
    try:
        # Written behind, as each cell that is encoded alone is one change; nothing is lost but time.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS encoded (key BLOB PRIMARY KEY, numbers BLOB, at REAL) WITHOUT ROWID"
            )
            connection.execute("CREATE INDEX IF NOT EXISTS by_age ON encoded (at)")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
