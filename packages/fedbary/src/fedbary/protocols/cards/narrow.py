"""Very wide blocks are projected before a card is made of them, by directions that everybody knows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedbary.data.changed import changed
from fedbary.data.table import Table
from fedbary.space.encode import column_widths
from fedbary.space.fit import random_directions
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Beyond this width a second moment is larger than most tables.
MOST_COORDINATES = 1024
_DIRECTIONS = 256


def narrowed(table: Table) -> Table:
    """The table with each block beyond 1024 coordinates in 256 random directions, and what these leave out.

    The directions depend on the block's name and width alone. Each row's numbers are a function of its own cells.
    """
    return changed(table, _narrowed) if any(map(_is_wide, table.head().columns.values())) else table


def by_name(table: Table) -> Table:
    """The table with its columns in the order of their names: their order in a file must move nothing."""
    names = list(table.head().columns)
    return table if names == sorted(names) else changed(table, _by_name)


def as_in(table: Table, schema: Schema) -> Table:
    """The table narrowed, where a schema was agreed on by cards of narrowed tables."""
    widths = column_widths(table)
    return table if widths_in(widths, schema) == widths else narrowed(table)


def widths_in(widths: Mapping[str, int | None], schema: Schema) -> dict[str, int | None]:
    """The widths of a table's columns, with those that a schema has narrowed."""
    narrow = {column.name for column in schema.columns if column.width == _DIRECTIONS + 1}
    return {
        name: _DIRECTIONS + 1 if name in narrow and (width or 1) > MOST_COORDINATES else width
        for name, width in widths.items()
    }


def _by_name(table: Table) -> Table:
    return table.replace(columns={name: table.columns[name] for name in sorted(table.columns)})


def _narrowed(table: Table) -> Table:
    wide = {
        name: _projected(np.asarray(values, dtype=np.float64), _directions(name, values.shape[1]))
        for name, values in table.columns.items()
        if _is_wide(values)
    }
    return table.replace(columns={**table.columns, **wide})


def _is_wide(values: NDArray[np.generic]) -> bool:
    return values.ndim == 2 and values.shape[1] > MOST_COORDINATES


@lru_cache(maxsize=4)
def _directions(name: str, width: int) -> Floats:
    seed = int.from_bytes(hashlib.sha256(f"{width} {name}".encode()).digest()[:4], "big")
    return random_directions(width, _DIRECTIONS, seed).directions


def _projected(values: Floats, directions: Floats) -> Floats:
    along = values @ directions.T
    lost = np.maximum((values**2).sum(axis=1) - (along**2).sum(axis=1), 0.0)
    return np.column_stack([along, np.sqrt(lost)])
