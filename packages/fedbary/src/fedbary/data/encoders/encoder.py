"""`Encoder`: what turns images or texts into rows of numbers, each cell by itself; and those that need no files.

``pixels`` is an image brought to one size, ``hashing`` a text as counts of its words in places that a hash chooses, and
a function of the user's own is known by what it makes of public examples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fedbary.data.formats.images import most_frequent_shape
from fedbary.errors import DataError, SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

CellKind: TypeAlias = Literal["image", "text"]
Block: TypeAlias = npt.NDArray[np.float32]

# Of the algorithms of `pixels` and `hashing`.
_VERSION = 1
_SIDE, _LARGEST_SIDE = 32, 256
_FEWEST_PLACES, _MOST_PLACES = 2, 4096
# More than rounding on any device: dropout, or batch statistics.
_TOLERANCE = 1e-3
_PROBES = (
    "The patient was admitted with fever and a dry cough.",
    "Delivered on time, but the box was damaged.",
    "no",
    "Der Zug nach Norden fährt heute von Gleis 3.",
    "payment overdue: 1,250.00 (second reminder)",
    "I would buy this again, and I told all my friends about it, although the colour is not the one in the picture.",
)
_PROJECTIONS = 6


@dataclass(frozen=True)
class Encoder:
    """A fixed function from a cell to numbers, with a name and a digest by which owners know that theirs is it."""

    name: str  # stands in a schema, with every setting and without any path of this machine
    digest: str  # of everything that moves an output: settings, weights, and the version of the algorithm
    width: int
    encode: Callable[[Sequence[Any]], npt.NDArray[Any]]  # a row of so many numbers for each image (of Pillow) or text
    batch: int = 32  # cells that are encoded at once
    separate: bool = False  # whether a cell's numbers are the same to the last bit, whatever else is in its batch
    costly: bool = False  # whether a cell is worth keeping in the cache


def digest_of(*parts: object) -> str:
    """A short digest of settings and of contents (bytes)."""
    total = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()[:32]


def pixels(settings: str) -> Encoder:
    """The encoder of ``pixels`` or ``pixels:HEIGHTxWIDTHxCOLOURS``: pixels from 0 to 255, row by row."""
    if not settings:
        return _pixels(_SIDE, _SIDE, 3)
    parts = settings.split("x")
    if 2 <= len(parts) <= 3 and all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        height, width, colours = (*map(int, parts), 3)[:3]
        if 1 <= height <= _LARGEST_SIDE and 1 <= width <= _LARGEST_SIDE and colours in (1, 3):
            return _pixels(height, width, colours)
    raise SettingsError("encoders.pixel-shape", shape=settings, most=_LARGEST_SIDE)


def fitting_pixels(cells: Sequence[Any]) -> Encoder:
    """The shape that most of these images have, at most 32 pixels a side; gray only if all of them are."""
    height, width, colours = most_frequent_shape(cells) or (_SIDE, _SIDE, 3)
    shrink = min(1.0, _SIDE / max(height, width))
    return _pixels(max(1, round(height * shrink)), max(1, round(width * shrink)), colours)


def _pixels(height: int, width: int, colours: int) -> Encoder:
    def encode(batch: Sequence[Image]) -> Block:
        return np.stack([_resized(image, height, width, colours) for image in batch])

    name = f"pixels:{height}x{width}x{colours}"
    size = height * width * colours
    return Encoder(name, digest_of(name, "box", _VERSION), size, encode, batch=16, separate=True)


def _resized(image: Image, height: int, width: int, colours: int) -> Block:
    from PIL import Image as Images

    coloured = image.convert("L" if colours == 1 else "RGB")
    if coloured.size != (width, height):  # else every pixel stays as it is
        # A box filter averages whole pixels where an image shrinks, and does not ring.
        coloured = coloured.resize((width, height), Images.Resampling.BOX)
    return np.asarray(coloured, dtype=np.float32).reshape(-1)


def hashing(settings: str) -> Encoder:
    """The encoder of ``hashing`` or ``hashing:PLACES``: words and pairs of words, each text of length one."""
    plain = not settings or (settings.isascii() and settings.isdigit() and len(settings) < 6)
    width = int(settings or 512) if plain else 0
    if not _FEWEST_PLACES <= width <= _MOST_PLACES:
        raise SettingsError("encoders.hashing-width", width=settings, least=_FEWEST_PLACES, most=_MOST_PLACES)
    name = f"hashing:{width}"
    digest = digest_of(name, "words 1-2", "l2", "signed", _VERSION)
    return Encoder(name, digest, width, partial(_hashed, width=width), batch=4096, separate=True)


def _hashed(batch: Sequence[str], width: int) -> Block:
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(n_features=width, ngram_range=(1, 2), norm="l2", alternate_sign=True)
    found: Block = hashed.transform(batch).toarray().astype(np.float32)
    return found


def of_function(function: Callable[[Any], Any], kind: CellKind) -> Encoder:
    """Try a function on public examples: each row must be made of its own cell, whatever else is in the batch.

    A function that has a ``digest`` (text) of its own, such as that of its weights, is known by it. It is run again
    every time: nothing tells whether it is still the function that filled a cache.
    """
    examples = probe(kind)
    try:
        alone = np.concatenate([_called(function, [example], kind) for example in examples])
        together = _called(function, examples, kind)
    except DataError as error:
        raise SettingsError(error.code, **error.note.facts) from error.__cause__
    if not np.isfinite(alone).all():
        raise SettingsError("encoders.no-numbers", kind=kind)
    difference = np.inf if together.shape != alone.shape else np.abs(together.astype(float) - alone.astype(float)).max()
    if not difference <= _TOLERANCE * max(1e-30, float(np.abs(alone.astype(float)).max())):
        raise SettingsError("encoders.depends-on-batch")
    own = getattr(function, "digest", None)
    digest = own if isinstance(own, str) and own else fingerprint(alone)
    return Encoder("function", digest, alone.shape[1], lambda batch: _called(function, list(batch), kind))


def _called(function: Callable[[Any], Any], cells: list[Any], kind: CellKind) -> npt.NDArray[Any]:
    try:
        rows = _as_array(function(cells))
    except DataError:
        raise
    except Exception as error:  # the user's code may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataError("encoders.function-failed", kind=kind, why=why) from error
    if rows.ndim < 2 or len(rows) != len(cells) or rows.dtype.kind not in "biuf" or rows.size == 0:
        raise DataError("encoders.function-shape", kind=kind, cells=len(cells), shape=str(rows.shape))
    return rows.reshape(len(rows), -1)


def _as_array(rows: Any) -> npt.NDArray[Any]:
    """Also of a tensor that is on another device or is part of a training."""
    for step in ("detach", "cpu"):
        if hasattr(rows, step):
            rows = getattr(rows, step)()
    if str(getattr(rows, "dtype", "")) in ("torch.bfloat16", "torch.float16"):
        rows = rows.float()
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") and hasattr(rows, "nnz") else rows)


def probe(kind: CellKind) -> list[Any]:
    """A few images, in colours and gray, or texts; the same everywhere: what becomes of them tells functions apart."""
    if kind == "text":
        return list(_PROBES)
    from PIL import Image

    down, right = np.mgrid[0:48, 0:64]
    slope = np.stack([4 * right, 5 * down, 255 - 4 * right], axis=2)
    checks = np.repeat((((down // 8 + right // 8) % 2) * 255)[:, :, None], 3, axis=2)
    rings = (128 + 127 * np.sin(np.hypot(down - 24, right - 32) / 3)).round()
    grain = (np.arange(48 * 64 * 3, dtype=np.uint64) * 2654435761 % 4294967291 % 256).reshape(48, 64, 3)
    return [Image.fromarray(one.astype(np.uint8)) for one in (slope, checks, rings, grain)]


def fingerprint(rows: npt.NDArray[Any], digits: int = 2) -> str:
    """A digest that survives the last digits in which two machines differ: a few projections, to so many digits."""
    flat = np.asarray(rows, dtype=np.float64).reshape(-1)
    places = np.arange(flat.size)
    scale = float(np.abs(flat).max()) or 1.0
    # Waves of different lengths: fixed, spread over all numbers, and the same with every NumPy.
    waves = np.cos(np.outer(np.arange(1, _PROJECTIONS + 1) * np.sqrt(2), places + 1.0))
    # Where a number is zero, as many are, a quarter of the last digit keeps rounding away from its sign.
    projected = waves @ (flat / scale) / np.sqrt(flat.size)
    return digest_of(
        "function", list(rows.shape), [f"{number:.{digits}f}" for number in projected + 0.25 * 10.0**-digits]
    )
