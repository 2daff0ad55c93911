"""How large the pictures are that rows may be drawn as."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.valuation.result import ImageShape

_SHAPE = re.compile(r"(\d{1,3})x(\d{1,3})(?:x([13]))?")


def image_shape(text: str) -> ImageShape:
    """What was typed after --images.

    Examples
    --------
    >>> image_shape("auto"), image_shape("none"), image_shape("28x28"), image_shape("32x32x3")
    ('auto', None, (28, 28), (32, 32, 3))
    """
    if text == "auto":
        return "auto"
    if text == "none":
        return None
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise SettingsError("cli.images-option", got=text)
    return tuple(int(side) for side in found.groups() if side is not None)
