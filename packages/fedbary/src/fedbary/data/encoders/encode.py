"""`encoded`: a column of images or texts as a block of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbary.data.encoders.cache import EncodingCache, encoding_cache
from fedbary.data.encoders.encoder import Block, CellKind, Encoder
from fedbary.data.encoders.named import DEFAULTS, Spec, agreed_encoder, encoder_of, suits
from fedbary.data.encoders.pixels import Pixels, fitting_pixels
from fedbary.data.encoders.progress import Progress
from fedbary.data.formats.images import content_of, file_of, opened_image
from fedbary.data.reading import ColumnReading
from fedbary.errors import DataError
from fedbary.notes import Note

MOST_NUMBERS = 2**30


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
    agreed: ColumnReading | None = None,
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
    try:
        chosen = _chosen(cells, encoder, kind, agreed, alone)
        if len(cells) * chosen.width > MOST_NUMBERS:
            raise DataError(
                "encoders.too-many-numbers", cells=len(cells), kind=kind, width=chosen.width, most=MOST_NUMBERS
            )
        block = np.full((len(cells), chosen.width), np.nan, dtype=np.float32)
        for found in _batches(cells, chosen, kind, name, alone):
            for row, numbers in found.items():
                block[row] = numbers
    except DataError as error:
        raise error.at(f"column {name!r}") from error.__cause__
    stated = agreed.encoder if agreed is not None and agreed.encoder else chosen.name
    return EncodedCells(block, stated, chosen.digest, _guesses(chosen, encoder, agreed, name))


def _chosen(
    cells: Sequence[Any], asked: Spec | None, kind: CellKind, agreed: ColumnReading | None, alone: bool
) -> Encoder:
    if agreed is not None and agreed.encoder:
        chosen = agreed_encoder(asked, agreed.encoder, kind)
        if agreed.digest and chosen.digest != agreed.digest:
            raise DataError(
                "encoders.differs",
                ours=chosen.name,
                theirs=agreed.encoder,
                our_digest=chosen.digest[:8],
                their_digest=agreed.digest[:8],
            )
        return chosen
    if kind == "image" and not suits(asked, kind):  # it was asked for the texts of the same table
        asked = None
    if kind == "image" and asked in (None, "pixels") and not alone:
        return fitting_pixels(cells)
    return encoder_of(DEFAULTS[kind] if asked is None else asked, kind)


def _guesses(chosen: Encoder, asked: Spec | None, agreed: ColumnReading | None, name: str) -> tuple[Note, ...]:
    told = asked == chosen.name or (agreed is not None and agreed.encoder)
    if not isinstance(chosen, Pixels) or told:
        return ()
    shape, colours = f"{chosen.height}×{chosen.columns}", "gray" if chosen.colours == 1 else "in colours"
    return (Note("encoders.pixels-guessed", {"column": name, "shape": shape, "colours": colours}),)


def _batches(
    cells: Sequence[Any], encoder: Encoder, kind: CellKind, name: str, alone: bool
) -> Iterator[dict[int, Block]]:
    present = [row for row, cell in enumerate(cells) if not _is_missing(cell)]
    size = 1 if alone and not encoder.separate else encoder.batch
    progress = Progress(name, len(present))
    with encoding_cache(encoder, alone) as cache:
        for start in range(0, len(present), size):
            batch = {row: cells[row] for row in present[start : start + size]}
            try:
                if cache:
                    yield _kept(batch, encoder, kind, cache)
                else:
                    yield _rows(_ready(batch, kind, alone), encoder, kind)
            except Exception:  # what a library says of one odd cell must not keep all others from being read
                if not alone:
                    raise
                if len(batch) > 1:
                    yield from _one_by_one(batch, encoder, kind)
            progress.add(len(batch))


def _one_by_one(cells: Mapping[int, Any], encoder: Encoder, kind: CellKind) -> Iterator[dict[int, Block]]:
    for row, cell in cells.items():
        with suppress(Exception):
            yield _rows(_ready({row: cell}, kind, True), encoder, kind)


def _kept(cells: Mapping[int, Any], encoder: Encoder, kind: CellKind, cache: EncodingCache) -> dict[int, Block]:
    """What the cache has; the rest is encoded, equal cells once."""
    keys = {row: cache.key(_content(cell, row, kind)) for row, cell in cells.items()}
    known = cache.found(list(keys.values()))
    missing = {key: row for row, key in keys.items() if key not in known}
    made = _rows(_ready({row: cells[row] for row in missing.values()}, kind, False), encoder, kind)
    new = {key: made[row] for key, row in missing.items()}
    cache.keep(new)
    known |= new
    return {row: known[key] for row, key in keys.items()}


def _rows(cells: Mapping[int, Any], encoder: Encoder, kind: CellKind) -> dict[int, Block]:
    if not cells:
        return {}
    with np.errstate(over="ignore", invalid="ignore"):
        found: Block = np.asarray(encoder.encode(list(cells.values()))).astype(np.float32)
    if found.shape != (len(cells), encoder.width):
        raise DataError("encoders.function-shape", kind=kind, cells=len(cells), shape=str(found.shape))
    if not np.isfinite(found).all():
        raise DataError("encoders.no-numbers", kind=kind)
    return dict(zip(cells, found, strict=True))


def _ready(cells: Mapping[int, Any], kind: CellKind, lenient: bool) -> dict[int, Any]:
    """Cells as encoders take them; where it is lenient, without those that cannot be opened."""
    ready = {}
    for row, cell in cells.items():
        try:
            with _naming(cell, row):
                ready[row] = opened_image(cell) if kind == "image" else str(cell)
        except DataError:
            if not lenient:
                raise
    return ready


def _content(cell: Any, row: int, kind: CellKind) -> tuple[object, ...]:
    with _naming(cell, row):
        return content_of(cell) if kind == "image" else (str(cell),)


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
