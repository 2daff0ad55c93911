"""Rows that are images, as small PNG files for a page."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError, wrong_parameter

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.result import ImageShape

Pixels = NDArray[np.uint8]

_LEAST_SIDE, _MOST_SIDE, _LARGEST = 8, 64, 512
# What the brightest pixel may be: a share, scikit-learn's digits, a byte.
_TOPS = (1.0, 16.0, 255.0)
_FEW_VALUES = 4
# Neighbouring pixels are alike; coordinates of an embedding are not. Compared on this many rows at most.
_ALIKE, _LOOKED_AT = 0.85, 200


@dataclass(frozen=True)
class Images:
    """The pictures of a table's rows, and the size of each."""

    pixels: Pixels
    known: NDArray[np.bool_]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[1], self.pixels.shape[2]

    def png(self, row: int) -> str:
        """One row's picture as base64 of a PNG file; empty where the row has none."""
        return base64.b64encode(png(self.pixels[row])).decode("ascii") if self.known[row] else ""


def images_of(table: Table, shape: ImageShape = "auto") -> Images | None:
    """The rows as pictures, or None where they are none.

    A block is read row by row, from the top left; the three colours of a pixel stand side by side (height, width,
    red-green-blue), as NumPy flattens an image and as `fedbary.datasets` loads CIFAR-10.

    Parameters
    ----------
    table : Table
        The rows.
    shape : {"auto"}, None or (height, width) or (height, width, channels)
        ``auto`` takes a table's only block for pictures if it has the coordinates of a square of 8 to 64 pixels, grey
        or in colour, if most rows lie between 0 and 1, 16 or 255 and have more than a few values, and if pixels side
        by side are alike. A shape forces it, also for as many numeric columns as it has pixels. None: no pictures.
    """
    if shape is None:
        return None
    blocks = [column for column in table.columns.values() if column.ndim == 2]
    if isinstance(shape, str):
        if shape != "auto":
            raise wrong_parameter("images", "report", "'auto', None or (height, width)", shape)
        sides = _square(blocks[0].shape[1]) if len(blocks) == 1 else None
        if sides is None or not _looks_like_images(blocks[0].reshape(len(table), *sides)):
            return None
        return _bytes(blocks[0].reshape(len(table), *sides))
    return _bytes(_forced(table, blocks, shape).reshape(len(table), *_checked(shape)))


def png(pixels: Pixels) -> bytes:
    r"""A PNG file of grey (height, width) or red-green-blue (height, width, 3) bytes."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()


def _square(width: int) -> tuple[int, ...] | None:
    """The sides of a square with so many coordinates, grey or with three colours."""
    for channels in (1, 3):
        side = math.isqrt(width // channels)
        if side * side * channels == width and _LEAST_SIDE <= side <= _MOST_SIDE:
            return (side, side) if channels == 1 else (side, side, channels)
    return None


def _looks_like_images(values: NDArray[np.generic]) -> bool:
    """Whether most rows have a picture's range, and neighbours that are more alike than pixels far apart."""
    some = np.asarray(values[:: max(1, len(values) // _LOOKED_AT)][:_LOOKED_AT], dtype=float)
    some = some[np.isfinite(some).all(axis=tuple(range(1, some.ndim)))]
    if not len(some) or _top(some) is None or len(np.unique(some)) <= _FEW_VALUES:
        return False
    grey = some if some.ndim == 3 else some.mean(axis=3)
    beside = np.abs(np.diff(grey, axis=2)).mean() + np.abs(np.diff(grey, axis=1)).mean()
    flat = grey.reshape(len(grey), -1)
    elsewhere = np.abs(flat - flat[:, np.random.default_rng(0).permutation(flat.shape[1])]).mean()
    return bool(beside / 2.0 < _ALIKE * elsewhere)


def _top(values: NDArray[np.float64]) -> float | None:
    """The brightest pixel that at least half of the rows keep to, noisy ones aside."""
    inner = tuple(range(1, values.ndim))
    low, high = values.min(axis=inner), values.max(axis=inner)
    for top in _TOPS:
        if np.mean((low >= -1e-6) & (high <= top * (1.0 + 1e-6))) >= 0.5:
            return top
    return None


def _bytes(values: NDArray[np.generic]) -> Images:
    """Numbers as grey levels: by their known range, or else between the smallest and the largest."""
    numbers = np.asarray(values, dtype=float)
    known = np.isfinite(numbers).all(axis=tuple(range(1, numbers.ndim)))
    finite = numbers[known]
    low, top = 0.0, _top(finite) if len(finite) else 1.0
    if top is None:
        low, top = float(finite.min()), float(finite.max())
    span = top - low or 1.0
    pixels = np.zeros(numbers.shape, dtype=np.uint8)
    pixels[known] = np.clip(np.rint((finite - low) / span * 255.0), 0, 255).astype(np.uint8)
    return Images(pixels, known)


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    """A forced shape, without the one channel of a grey picture."""
    whole = isinstance(shape, Sequence) and all(isinstance(side, int) and 1 <= side <= _LARGEST for side in shape)
    if not whole or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        raise wrong_parameter(
            "images", "report", f"(height, width) or (height, width, 1 or 3) of at most {_LARGEST} pixels", shape
        )
    return tuple(shape[:2]) if len(shape) == 2 or shape[2] == 1 else tuple(shape)


def _forced(table: Table, blocks: Sequence[NDArray[np.generic]], shape: Sequence[int]) -> NDArray[np.generic]:
    """The one block with the shape's pixels, or as many numeric columns."""
    size = math.prod(_checked(shape))
    fitting = [block for block in blocks if block.shape[1] == size]
    if len(fitting) == 1:
        return fitting[0]
    columns = [column for column in table.columns.values() if column.ndim == 1 and column.dtype.kind == "f"]
    if not fitting and len(columns) == size:
        return np.column_stack(columns)
    widths = ", ".join(str(block.shape[1]) for block in blocks) or "none"
    raise SettingsError(
        "views.no-block-of-that-shape", shape=str(tuple(shape)), pixels=size, fitting=len(fitting), widths=widths
    )
