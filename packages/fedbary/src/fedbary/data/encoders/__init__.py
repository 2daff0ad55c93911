"""Encoders: images and texts become blocks of numbers, by a function that all owners of a federation share."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from platformdirs import user_cache_path

from fedbary.checks import did_you_mean
from fedbary.columns import Column, Encoded, Vector
from fedbary.data.atomic import private_folder
from fedbary.data.encoders.encoder import Block, CellKind, Encoder, fitting_pixels, hashing, of_function, pixels
from fedbary.data.encoders.models import SENTENCES, VISION
from fedbary.data.formats.images import content_of, file_of, is_image, opened_image
from fedbary.data.options import ENCODERS
from fedbary.errors import DataError, SettingsError
from fedbary.notes import Note

__all__ = ["CellKind", "Encoder", "encoded", "encoder_of", "is_image", "suits", "watching_encoders", "width_of"]

MOST_NUMBERS = 2**30
Spec: TypeAlias = "str | Callable[[Any], Any]"
Watcher = Callable[[str, int, int], None]

_FAMILIES: dict[str, tuple[CellKind, Callable[[str], Encoder]]] = {
    "pixels": ("image", pixels),
    "hashing": ("text", hashing),
    "timm": (VISION.kind, VISION.encoder),
    "sentence-transformers": (SENTENCES.kind, SENTENCES.encoder),
}
# Built of their names alone: these may be asked for by another party.
_WITHOUT_FILES = ("pixels", "hashing")
_DEFAULTS: dict[CellKind, str] = {"image": "pixels", "text": "hashing"}
_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_SECONDS = 0.1


def encoder_of(spec: Spec, kind: CellKind) -> Encoder:
    """The encoder of a name or a function, for images or for texts.

    That there is none of that name, or its package or weights are not there, is a SettingsError; that it is for the
    other kind a DataError.
    """
    if not isinstance(spec, str):
        return of_function(spec, kind)
    family, _, settings = spec.partition(":")
    if family not in ENCODERS:
        raise SettingsError(
            "encoders.no-encoder", name=spec, guess=did_you_mean(family, ENCODERS), known=", ".join(ENCODERS)
        )
    takes, made = _FAMILIES[family]
    if takes != kind:
        raise DataError("encoders.other-kind", name=spec, takes=f"{takes}s", kind=f"{kind}s", default=_DEFAULTS[kind])
    return made(settings)


def suits(spec: Spec | None, kind: CellKind) -> bool:
    """Whether an encoder that was asked for is one of images, or of texts; a function may be for both."""
    if spec is None or not isinstance(spec, str):
        return spec is not None
    family = spec.partition(":")[0]
    return family not in _FAMILIES or _FAMILIES[family][0] == kind


def width_of(column: Column) -> int | None:
    """How many numbers a vector has, or an encoder makes of a cell; None where nobody says it, 0 if there is none."""
    if isinstance(column, Vector):
        return column.width or None
    if not isinstance(column, Encoded) or column.encoder.partition(":")[0] not in _WITHOUT_FILES:
        return None
    try:
        return encoder_of(column.encoder, column.cell_kind).width
    except (DataError, SettingsError):
        return 0


@dataclass(frozen=True)
class EncodedCells:
    """The numbers of a column, NaN where a cell is missing; what a reading states of its encoder; what was guessed."""

    block: Block
    encoder: str
    digest: str
    notes: tuple[Note, ...] = ()


def encoded(
    cells: Sequence[Any],
    encoder: Spec | None = None,
    *,
    kind: CellKind,
    name: str,
    agreed: Encoded | None = None,
    alone: bool = False,
) -> EncodedCells:
    """Encode a column of texts, or of images: paths, bytes, ``{"bytes": ..., "path": ...}``, arrays, images of Pillow.

    ``encoder`` is what the owner asked for, by default ``pixels`` in the size that most images have, and ``hashing``;
    another one than was ``agreed`` is refused. Where each cell is ``alone``, for answers with ε, it is encoded by
    itself, so that not even rounding depends on another row, and one that cannot be encoded is missing.
    """
    stated = "" if agreed is None else agreed.encoder
    notes: tuple[Note, ...] = ()
    try:
        if agreed is not None and stated:
            chosen = _agreed_encoder(encoder, stated, agreed.digest, kind)
        elif kind == "image" and (encoder in (None, "pixels") or not suits(encoder, kind)) and not alone:
            chosen = fitting_pixels(cells)
        else:  # one of texts was asked for the texts of the same table
            asked = None if kind == "image" and not suits(encoder, kind) else encoder
            chosen = encoder_of(_DEFAULTS[kind] if asked is None else asked, kind)
        if len(cells) * chosen.width > MOST_NUMBERS:
            raise DataError(
                "encoders.too-many-numbers", cells=len(cells), kind=kind, width=chosen.width, most=MOST_NUMBERS
            )
        block = np.full((len(cells), chosen.width), np.nan, dtype=np.float32)
        for found in _Encoding(chosen, kind, alone).batches(cells, name):
            for row, numbers in found.items():
                block[row] = numbers
    except DataError as error:
        raise error.at(f"column {name!r}") from error.__cause__
    if not stated and chosen.name.startswith("pixels:") and encoder != chosen.name:
        height, width, colours = chosen.name.removeprefix("pixels:").split("x")
        facts = {"column": name, "shape": f"{height}×{width}", "colours": "gray" if colours == "1" else "in colours"}
        notes = (Note("encoders.pixels-guessed", facts),)
    return EncodedCells(block, stated or chosen.name, chosen.digest, notes)


def _agreed_encoder(asked: Spec | None, name: str, digest: str, kind: CellKind) -> Encoder:
    """The encoder that a federation agreed on; one that needs files is used only where its owner asked for it."""
    nothing_else = asked is None or asked in _WITHOUT_FILES or not suits(asked, kind)
    if name.partition(":")[0] in _WITHOUT_FILES and nothing_else:
        chosen = encoder_of(name, kind)
    elif asked is None or not suits(asked, kind):
        raise DataError("encoders.ask-for-it", name=name)
    else:
        chosen = encoder_of(asked, kind)
    if digest and chosen.digest != digest:
        facts = {"our_digest": chosen.digest[:8], "their_digest": digest[:8]}
        raise DataError("encoders.differs", ours=chosen.name, theirs=name, **facts)
    return chosen


@dataclass(frozen=True)
class _Encoding:
    """Cells of one kind by one encoder; see `encoded`."""

    encoder: Encoder
    kind: CellKind
    alone: bool

    def batches(self, cells: Sequence[Any], name: str) -> Iterator[dict[int, Block]]:
        """The numbers of all cells that are not missing, by row."""
        present = [row for row, cell in enumerate(cells) if not _is_missing(cell)]
        size = 1 if self.alone and not self.encoder.separate else self.encoder.batch
        progress = _Progress(name, len(present))
        with encoding_cache(self.encoder, self.alone) as cache:
            for start in range(0, len(present), size):
                batch = {row: cells[row] for row in present[start : start + size]}
                try:
                    yield self._kept(batch, cache) if cache else self._rows(batch, lenient=self.alone)
                except Exception:  # what a library says of one odd cell must not keep all others from being read
                    if not self.alone:
                        raise
                    for row, cell in batch.items() if len(batch) > 1 else ():
                        with suppress(Exception):
                            yield self._rows({row: cell}, lenient=True)
                progress.add(len(batch))

    def _kept(self, cells: Mapping[int, Any], cache: EncodingCache) -> dict[int, Block]:
        """What the cache has; the rest is encoded, equal cells once."""
        keys = {}
        for row, cell in cells.items():
            with _naming(cell, row):
                keys[row] = cache.key(content_of(cell) if self.kind == "image" else (str(cell),))
        known = cache.found(list(keys.values()))
        missing = {key: row for row, key in keys.items() if key not in known}
        made = self._rows({row: cells[row] for row in missing.values()}, lenient=False)
        new = {key: made[row] for key, row in missing.items()}
        cache.keep(new)
        known |= new
        return {row: known[key] for row, key in keys.items()}

    def _rows(self, cells: Mapping[int, Any], *, lenient: bool) -> dict[int, Block]:
        """The numbers of cells; where it is lenient, without those that cannot be opened."""
        ready = {}
        for row, cell in cells.items():
            try:
                with _naming(cell, row):
                    ready[row] = opened_image(cell) if self.kind == "image" else str(cell)
            except DataError:
                if not lenient:
                    raise
        if not ready:
            return {}
        with np.errstate(over="ignore", invalid="ignore"):
            found: Block = np.asarray(self.encoder.encode(list(ready.values()))).astype(np.float32)
        if found.shape != (len(ready), self.encoder.width):
            raise DataError("encoders.function-shape", kind=self.kind, cells=len(ready), shape=str(found.shape))
        if not np.isfinite(found).all():
            raise DataError("encoders.no-numbers", kind=self.kind)
        return dict(zip(ready, found, strict=True))


@contextmanager
def _naming(cell: Any, row: int) -> Iterator[None]:
    """Put the file of an image, or its row, before what is wrong with it."""
    try:
        yield
    except DataError as error:
        raise error.at(file_of(cell) or f"row {row}") from error.__cause__


def _is_missing(cell: object) -> bool:
    if isinstance(cell, dict):
        return cell.get("bytes") is None and cell.get("path") is None
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType")
    )


@contextmanager
def watching_encoders(watcher: Watcher) -> Iterator[None]:
    """Call ``watcher(column, done, total)`` while a column is encoded inside this block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


class _Progress:
    """How far one column is, told a few times a second and at its end."""

    def __init__(self, column: str, total: int) -> None:
        self._column, self._total, self._done, self._told = column, total, 0, time.monotonic()

    def add(self, count: int) -> None:
        watcher = _WATCHER.get()
        self._done += count
        if watcher is None or (self._done < self._total and time.monotonic() < self._told + _SECONDS):
            return
        self._told = time.monotonic()
        watcher(self._column, self._done, self._total)


MOST_BYTES = 2**30
_PATIENCE = 5.0
_AT_ONCE = 500  # names in one question, of which SQLite takes a limited number


def cache_folder() -> Path:
    """Where encoded cells and fetched data sets are kept: ``$FEDBARY_CACHE``, or the user's cache."""
    named = os.environ.get("FEDBARY_CACHE", "off")
    return user_cache_path("fedbary", appauthor=False) if named in ("", "off") else Path(named)


class EncodingCache:
    """Encoded cells that are kept on the owner's machine: looked up by content and digest, the oldest go if too many.

    ``FEDBARY_CACHE`` names the folder (default: the user's cache), and with ``FEDBARY_CACHE=off`` nothing is kept.
    Whatever goes wrong with the cache, cells are encoded as if there were none.
    """

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
    wanted = encoder.costly and os.environ.get("FEDBARY_CACHE") != "off"
    connection = _connected(cache_folder() / "encodings") if wanted else None
    if connection is None:
        yield None
    else:
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
    connection = sqlite3.connect(file, timeout=_PATIENCE)
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
