"""Encoders: images and texts become blocks of numbers, by a function that all owners of a federation share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fedbary.checks import did_you_mean
from fedbary.columns import Column, Encoded, Vector
from fedbary.data.encoders.cache import EncodingCache, encoding_cache
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

    Raises
    ------
    SettingsError
        Where there is none of that name, its package or weights are not there, or a function is none.
    DataError
        Where it is for the other kind.
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
    """The numbers of a column, and by which encoder.

    Attributes
    ----------
    block : array of float32
        One row for each cell; NaN where it is missing.
    encoder, digest : str
        What a reading states of it.
    notes : tuple of Note
        What was guessed, for the owner.
    """

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
    """Encode a column of images or texts.

    Parameters
    ----------
    cells
        Texts; or images: paths, bytes, ``{"bytes": ..., "path": ...}``, arrays, or images of Pillow. None is missing.
    encoder
        What the owner asked for. Default: ``pixels`` in the size that most images have, and ``hashing``.
    kind
        ``image`` or ``text``.
    name
        The column's, for messages.
    agreed
        How the column was agreed to be read; another encoder is refused.
    alone
        Encode each cell by itself, so that not even rounding depends on another row, and take one that cannot be
        encoded as missing: for answers with ε.
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
