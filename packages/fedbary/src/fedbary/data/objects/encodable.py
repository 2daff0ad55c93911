"""Features that an encoder turns into numbers: texts, images, and arrays of images that are too large as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbary.data.encoders import CellKind, encoded, is_image, suits
from fedbary.data.frames import require_column
from fedbary.data.options import ReadOptions
from fedbary.data.reading import ColumnReading, Reading
from fedbary.data.table import Table

# Arrays of images up to this size are their pixels; the encoder ``pixels`` would leave them as they are.
_SIDE = 32
_COLOURS = (1, 3, 4)


def encodable(X: Any, options: ReadOptions, reading: Reading | None = None) -> CellKind | None:
    """Whether X is a list of texts or images, or an array (n, h, w) or (n, h, w, colours) of images to be encoded.

    An array is where an encoder of images was asked for or agreed on, or where its images are large.

    Examples
    --------
    >>> encodable(["dry cough", None], ReadOptions()), encodable([[1.0, 2.0]], ReadOptions())
    ('text', None)
    >>> large, small = np.zeros((2, 64, 64), np.uint8), np.zeros((2, 28, 28), np.uint8)
    >>> encodable(large, ReadOptions()), encodable(small, ReadOptions())
    ('image', None)
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        if not _is_of_images(X):
            return None
        return "image" if suits(options.encoder, "image") or "image" in (reading or {}) or _is_large(X) else None
    if not isinstance(X, list | tuple) and not (isinstance(X, np.ndarray) and X.ndim == 1):
        return None
    first = next((cell for cell in X if cell is not None), None)
    if is_image(first):
        return "image"
    return "text" if isinstance(first, str) else None


def encoded_table(X: Sequence[Any], y: Any, kind: CellKind, options: ReadOptions, reading: Reading | None) -> Table:
    """The table of texts or images: one block, called ``text`` or ``image``."""
    if options.person is not None:
        require_column([kind], options.person, role="person")
    agreed = None if reading is None else reading.get(kind)
    made = encoded(X, options.encoder, kind=kind, name=kind, agreed=agreed)
    how = ColumnReading(kind, encoder=made.encoder, digest=made.digest)
    table = Table.from_arrays(made.block, y)
    return table.replace(columns={kind: table.columns["x"]}, reading=Reading({kind: how}), notes=made.notes)


def _is_of_images(X: np.ndarray[Any, Any]) -> bool:
    return X.ndim == 3 or (X.ndim == 4 and X.shape[3] in _COLOURS)


def _is_large(X: np.ndarray[Any, Any]) -> bool:
    if max(X.shape[1:3]) <= _SIDE:
        return False
    return X.dtype == np.uint8 or (X.ndim == 4 and X.size > 0 and X.min() >= 0 and X.max() <= 1)
