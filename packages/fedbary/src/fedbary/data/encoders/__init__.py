"""Encoders: images and texts become blocks of numbers, by a function that all owners of a federation share."""

from fedbary.data.encoders.encode import MOST_NUMBERS, EncodedCells, encoded
from fedbary.data.encoders.encoder import CellKind, Encoder
from fedbary.data.encoders.named import encoder_of, suits, width_of
from fedbary.data.encoders.progress import watching_encoders
from fedbary.data.formats.images import is_image

__all__ = [
    "MOST_NUMBERS",
    "CellKind",
    "EncodedCells",
    "Encoder",
    "encoded",
    "encoder_of",
    "is_image",
    "suits",
    "watching_encoders",
    "width_of",
]
