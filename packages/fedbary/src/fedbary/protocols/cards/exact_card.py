"""`exact_card`: the class moments of a table, to the last digit.

Very wide blocks are projected before, by directions that everybody knows (`narrowed`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import arrays_for
from fedbary.compute.arrays import class_sums
from fedbary.data.spool import ahead
from fedbary.data.table import PART, Table, changed
from fedbary.protocols.cards.card import Card, CardColumn, joined
from fedbary.space.columns import category_places, corners, levels
from fedbary.space.description import stated_reading
from fedbary.space.encode import column_kind, column_widths, project, side_by_side
from fedbary.space.fit import random_directions
from fedbary.space.labels import label_kind, named_classes
from fedbary.space.options import Task
from fedbary.space.row_identity import different_rows, known_parts
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]

# Beyond this width a second moment is larger than most tables.
MOST_COORDINATES = 1024
_DIRECTIONS = 256


def exact_card(table: Table, *, name: str = "", task: Task = "auto", shared: bool = False) -> Card:
    """The card of a table, each different row counted once, without any guard."""
    kind = label_kind(table.labels, task, name=table.label_name)
    card = card_of_different_rows(table, kind)
    return replace(card, name=name, rows=len(table), shared=shared)


def card_of_different_rows(table: Table, kind: str, *, told: Callable[[Table], Table] = lambda table: table) -> Card:
    """The moments of a table in which each different row counts once; ``told`` says what a card is made of.

    A large table is read once for the moments and for what tells its rows apart: usually none is a copy.
    """
    if len(table) > PART:
        made: list[Future[Card]] = []
        with ThreadPoolExecutor(1, thread_name_prefix="fedbary-card") as beside:
            for part in known_parts(table):
                if made:
                    made[-1].result()
                made.append(beside.submit(_card_of_part, told(part), kind, None, len(table)))
        card = joined(one.result() for one in made)
        if len(different_rows(table)) == len(table):
            return card
    return card_of_rows(told(different_rows(table)), kind)


def card_of_rows(table: Table, kind: str, *, unnamed: str | None = None) -> Card:
    """The moments of all rows of a table; rows of the level ``unnamed`` have none of a column's levels."""
    parts, rows = table.batches(), len(table)
    return joined(_card_of_part(part, kind, unnamed, rows) for part in (parts if rows <= PART else ahead(parts)))


def _card_of_part(table: Table, kind: str, unnamed: str | None, rows: int) -> Card:
    """Of some rows of a table that has so many."""
    columns, points = card_points(table, unnamed=unnamed)
    classes, codes = class_codes(table, kind)
    if kind == "number":
        points = np.column_stack([points, np.asarray(table.labels, dtype=float)])
    xp = arrays_for(float(rows) * points.shape[1] ** 2)
    found = class_sums(xp.asarray(points), xp.asarray(codes), len(classes), xp)
    centre, counts, sums, second = (xp.numpy(one) for one in found)
    reading = stated_reading(table)
    return Card("", len(table), table.label_name, kind, columns, classes, centre, counts, sums, second, reading=reading)


def class_codes(table: Table, kind: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The classes, and which of them each row has; one without a name where the label is a number."""
    if kind == "number":
        return ("",), np.zeros(len(table), dtype=np.int64)
    codes, names = named_classes(table.labels)
    return tuple(names.tolist()), codes


def card_points(table: Table, *, unnamed: str | None = None) -> tuple[tuple[CardColumn, ...], Floats]:
    """The columns and the rows as points z; missing cells lie at the mean of the others, and are marked."""
    columns, parts = zip(*(_column(name, values, unnamed) for name, values in table.columns.items()), strict=True)
    return columns, side_by_side(parts)


def _column(name: str, values: NDArray[np.generic], unnamed: str | None) -> tuple[CardColumn, Floats]:
    if column_kind(values) == "categorical":
        named = tuple(sorted(set(levels(values)) - {unnamed}))
        places = category_places(values, named, other=len(named) + 1)  # a coordinate that is left out again
        lacks = bool((places < 0).any())
        coordinates = corners(np.where(places < 0, len(named), places), len(named) + 2)[:, : len(named) + lacks]
        return CardColumn(name, "categorical", 1, named, lacks), coordinates
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    kind = "block" if values.ndim == 2 else "numeric"
    holes = np.isnan(numbers)
    if not holes.any():
        return CardColumn(name, kind, numbers.shape[1]), numbers
    there = np.maximum((~holes).sum(axis=0), 1)
    middle = np.where(holes, 0.0, numbers).sum(axis=0) / there
    filled = np.where(holes, middle, numbers)
    return CardColumn(name, kind, numbers.shape[1], lacks=True), np.hstack([filled, holes.astype(float)])


def narrowed(table: Table) -> Table:
    """The table with each block beyond 1024 coordinates in 256 random directions, and what these leave out.

    The directions depend on the block's name and width alone. Each row's numbers are a function of its own cells.
    """
    first = table.head().columns
    wide = [name for name, own in first.items() if own.ndim == 2 and own.shape[1] > MOST_COORDINATES]

    def in_directions(part: Table) -> Table:
        blocks = {name: np.asarray(part.columns[name], dtype=np.float64) for name in wide}
        few = {name: project(block, _directions(name, block.shape[1])) for name, block in blocks.items()}
        return part.replace(columns={**part.columns, **few})

    return changed(table, in_directions) if wide else table


def by_name(table: Table) -> Table:
    """The table with its columns in the order of their names: their order in a file must move nothing."""
    names = sorted(table.head().columns)
    if list(table.head().columns) == names:
        return table
    return changed(table, lambda part: part.replace(columns={name: part.columns[name] for name in names}))


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


@lru_cache(maxsize=4)
def _directions(name: str, width: int) -> Floats:
    seed = int.from_bytes(hashlib.sha256(f"{width} {name}".encode()).digest()[:4], "big")
    return random_directions(width, _DIRECTIONS, seed)
