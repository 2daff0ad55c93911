"""``pixels``: an image as its pixels, brought to one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.encoders.encoder import Block, digest_of
from fedbary.data.formats.images import most_frequent_shape
from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1
_SIDE = 32
_LARGEST_SIDE = 256


@dataclass(frozen=True)
class Pixels:
    """Pixels from 0 to 255, row by row; an image that has the size already keeps every pixel as it is.

    Examples
    --------
    >>> from PIL import Image
    >>> Pixels(2, 3, 1).encode([Image.new("L", (3, 2), 7)])
    array([[7., 7., 7., 7., 7., 7.]], dtype=float32)
    """

    height: int = _SIDE
    columns: int = _SIDE
    colours: int = 3
    batch: int = 16
    separate: bool = True
    costly: bool = False

    @property
    def name(self) -> str:
        """With height, width and colours, such as ``pixels:28x28x1``."""
        return f"pixels:{self.height}x{self.columns}x{self.colours}"

    @property
    def digest(self) -> str:
        """Of the shape and the way of resizing."""
        return digest_of(self.name, "box", _VERSION)

    @property
    def width(self) -> int:
        """Numbers for each image."""
        return self.height * self.columns * self.colours

    def encode(self, batch: Sequence[Image]) -> Block:
        """The pixels of each image."""
        return np.stack([self._one(image) for image in batch])

    def _one(self, image: Image) -> Block:
        from PIL import Image as Images

        coloured = image.convert("L" if self.colours == 1 else "RGB")
        if coloured.size != (self.columns, self.height):
            # A box filter averages whole pixels where an image shrinks, and does not ring.
            coloured = coloured.resize((self.columns, self.height), Images.Resampling.BOX)
        return np.asarray(coloured, dtype=np.float32).reshape(-1)


def pixels_of(settings: str) -> Pixels:
    """The encoder of ``pixels`` or ``pixels:HEIGHTxWIDTHxCOLOURS``.

    Examples
    --------
    >>> pixels_of("28x28x1").width, pixels_of("").name
    (784, 'pixels:32x32x3')
    """
    if not settings:
        return Pixels()
    parts = settings.split("x")
    if not (2 <= len(parts) <= 3 and all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts)):
        raise SettingsError("encoders.pixel-shape", shape=settings, most=_LARGEST_SIDE)
    height, width, colours = (*map(int, parts), 3)[:3]
    if not (1 <= height <= _LARGEST_SIDE and 1 <= width <= _LARGEST_SIDE and colours in (1, 3)):
        raise SettingsError("encoders.pixel-shape", shape=settings, most=_LARGEST_SIDE)
    return Pixels(height, width, colours)


def fitting_pixels(cells: Sequence[Any]) -> Pixels:
    """The shape that most of these images have, at most 32 pixels a side; gray only if all of them are.

    Examples
    --------
    >>> fitting_pixels([np.zeros((28, 28), np.uint8)]).name, fitting_pixels([np.zeros((480, 640, 3), np.uint8)]).name
    ('pixels:28x28x1', 'pixels:24x32x3')
    """
    shape = most_frequent_shape(cells)
    if shape is None:
        return Pixels()
    height, width, colours = shape
    shrink = min(1.0, _SIDE / max(height, width))
    return Pixels(max(1, round(height * shrink)), max(1, round(width * shrink)), colours)
