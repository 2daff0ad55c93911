"""Columns that name images: a path in a cell is meant from where the table lies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbary.data.encoders.images import SUFFIXES, is_image
from fedbary.data.reading import Reading

if TYPE_CHECKING:
    import pandas as pd


def with_images(
    frame: pd.DataFrame, folder: Path, reading: Reading | None = None, *, guess: bool = True
) -> pd.DataFrame:
    """Cells that name images become images: in columns agreed to hold them, or by a ``guess`` where all do."""
    agreed = reading or Reading()
    found = {}
    for place, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, place]
        kind = agreed[name].kind if name in agreed else ""
        if kind == "image" or (guess and not kind and _names_images(column, folder)):
            found[place] = column.map(lambda cell: _from(folder, cell), na_action="ignore").astype(object)
    if not found:
        return frame
    changed = frame.copy(deep=False)
    for place, column in found.items():
        changed.isetitem(place, column.to_numpy(dtype=object))
    return changed


def _names_images(column: pd.Series[Any], folder: Path) -> bool:
    """Whether all cells name an image and the first one is there."""
    if column.dtype.kind not in "OT" and str(column.dtype) != "str":
        return False
    present = column.dropna()
    try:
        first = present.iloc[0] if len(present) else None
    except UnicodeDecodeError:  # damage of which reading the column will speak
        return False
    if isinstance(first, Mapping):
        return is_image(first)
    if not isinstance(first, str) or not is_image(first) or not _is_file(folder / first):
        return False
    return bool(present.map(lambda cell: isinstance(cell, str) and cell.lower().endswith(SUFFIXES)).all())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a text that is too long for a name
        return False


def _from(folder: Path, cell: Any) -> Any:
    if isinstance(cell, str):
        return {"bytes": None, "path": str(folder / cell)}
    if isinstance(cell, Mapping) and cell.get("bytes") is None and isinstance(cell.get("path"), str):
        return {"bytes": None, "path": str(folder / cell["path"])}
    return cell
