"""`Vector`, `Image` and `Text`: cells that become many numbers, by themselves or by an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fedbary.columns.arrays import LARGEST, Array, block_dtype, refuse_infinite
from fedbary.columns.category import is_free_text, names_of, names_rows
from fedbary.columns.column import (
    VECTORS,
    Clues,
    Column,
    ColumnCells,
    Mask,
    TextCells,
    as_texts,
    form_of,
    present_cells,
)
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.wording import on_one_line

# A text column with more different values than this, and than half of the rows, is no list of categories.
_MANY_LEVELS = 100


@dataclass(frozen=True)
class Vector(Column):
    """As many numbers as ``width`` says; 0 where the first cell says it."""

    width: int = 0

    kind: ClassVar[str] = "vector"
    words: ClassVar[str] = "a vector"
    plural: ClassVar[str] = "vectors"
    option: ClassVar[str] = ""
    schema_kinds: ClassVar[tuple[str, ...]] = ("block",)
    of_objects: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        if form_of(clues.cells) != "vectors":
            return None
        first = next((cell for cell in clues.cells if cell is not None), ())  # type: ignore[union-attr]
        return cls(len(first) if hasattr(first, "__len__") else 0)

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """One vector a row; NaN where there is none of that width."""
        present = present_cells(cells)
        if isinstance(cells, TextCells) or cells.dtype.kind != "O":
            return np.full((len(cells), max(self.width, 1)), np.nan), present
        block, unread = np.full((len(cells), self.width), np.nan), present.copy()
        for row in np.flatnonzero(present).tolist():
            if (vector := _vector(cells[row], self.width)) is not None:
                block[row], unread[row] = vector, False
        return block, unread

    def read_all(self, name: str, cells: ColumnCells) -> tuple[Array, tuple[Note, ...]]:
        """In the type of the vectors themselves; a single one that does not fit is refused."""
        present = present_cells(cells)
        if not isinstance(cells, TextCells) and cells.dtype.kind == "O":
            return _block(name, cells, present, self.width), ()
        if present.any():
            raise self._misfit(name, cells, present)
        return self.read(cells)[0], ()

    @property
    def in_words(self) -> str:
        return f"vectors of {self.width:,} numbers" if self.width else self.plural


@dataclass(frozen=True)
class Encoded(Column):
    """Numbers that an ``encoder`` makes of a cell, whose ``digest`` says what it computes."""

    encoder: str = ""
    digest: str = ""

    cell_kind: ClassVar[Literal["image", "text"]]
    option: ClassVar[str] = ""
    schema_kinds: ClassVar[tuple[str, ...]] = ("block",)

    @property
    def in_words(self) -> str:
        return f"{self.plural} by the encoder {on_one_line(self.encoder)}" if self.encoder else self.kind


@dataclass(frozen=True)
class Image(Encoded):
    """An image."""

    kind: ClassVar[str] = "image"
    cell_kind: ClassVar[Literal["image", "text"]] = "image"
    words: ClassVar[str] = "an image"
    plural: ClassVar[str] = "images"
    of_objects: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        return cls() if form_of(clues.cells) == "images" else None

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        if isinstance(cells, TextCells):
            cells = cells.spread(np.fromiter(cells.levels, dtype=object), None)
        return cells, np.zeros(len(cells), dtype=bool)


@dataclass(frozen=True)
class Text(Encoded):
    """Free text."""

    kind: ClassVar[str] = "text"
    cell_kind: ClassVar[Literal["image", "text"]] = "text"
    words: ClassVar[str] = "free text"
    plural: ClassVar[str] = "text"
    as_written: ClassVar[bool] = True

    @classmethod
    def guess(cls, clues: Clues) -> Self | None:
        """Sentences, and texts of which too many are different."""
        if clues.texts is None or names_rows(clues):
            return None
        levels, rows = names_of(clues.texts), len(clues.texts)
        return cls() if is_free_text(levels, rows) or len(levels) > max(_MANY_LEVELS, rows // 2) else None

    def read(self, cells: ColumnCells) -> tuple[Array, Mask]:
        """The texts, for the encoder; 12 and 12.0 are one."""
        return Image().read(as_texts(cells))


def _vector(cell: Any, width: int) -> Array | None:
    try:
        vector = np.asarray(cell, dtype=np.float64)
    except Exception:  # numbers may be objects that raise anything
        return None
    return vector if vector.shape == (width,) and not (np.abs(vector) > LARGEST).any() else None


def _block(name: str, objects: Array, present: Mask, agreed: int) -> Array:
    """Vectors one under another; a missing one becomes a row of NaN."""
    width = agreed or (len(objects[present][0]) if present.any() else 0)
    for row, vector in zip(np.flatnonzero(present), objects[present], strict=True):
        if not isinstance(vector, VECTORS) or len(vector) != width:
            found = f"{len(vector)} numbers" if hasattr(vector, "__len__") else repr(vector)
            raise DataError("data.vectors-differ", column=name, width=width, row=int(row), found=found)
    try:
        stacked = np.stack([np.asarray(vector) for vector in objects[present]])
        stacked = stacked.astype(block_dtype(stacked.dtype) if stacked.dtype.kind in "biuf" else np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("data.vectors-not-numbers", column=name) from error
    if stacked.ndim != 2 or width == 0:
        raise DataError("data.vectors-shape", column=name, shape=str(stacked.shape[1:]))
    block = np.full((len(objects), width), np.nan, dtype=stacked.dtype)
    block[present] = stacked
    refuse_infinite(name, block)
    return block
