"""`exact_card`: the class moments of a table, to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import arrays_for
from fedbary.compute.arrays import class_sums
from fedbary.data.ahead import ahead
from fedbary.data.categories import category_names
from fedbary.data.table import PART, Table
from fedbary.protocols.cards.card import Card, CardColumn
from fedbary.protocols.cards.joined import joined
from fedbary.space.description import stated_reading
from fedbary.space.encode import column_kind
from fedbary.space.labels import class_names, label_kind
from fedbary.space.options import Task
from fedbary.space.row_identity import different_rows, known_parts

Floats = NDArray[np.float64]

_TOGETHER = 2048


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
    names, codes = np.unique(class_names(table.labels), return_inverse=True)
    return tuple(names.tolist()), codes


def card_points(table: Table, *, unnamed: str | None = None) -> tuple[tuple[CardColumn, ...], Floats]:
    """The columns and the rows as points z; missing cells lie at the mean of the others, and are marked."""
    columns, parts = [], []
    for name, values in table.columns.items():
        column, coordinates = _column(name, values, unnamed)
        columns.append(column)
        parts.append(coordinates)
    points = np.empty((len(table), sum(part.shape[1] for part in parts)))
    for some in _blocks(len(table)):
        np.concatenate([part[some] for part in parts], axis=1, out=points[some])
    return tuple(columns), points


def _blocks(rows: int) -> Iterator[slice]:
    """Rows that stay in the processor's cache together."""
    return (slice(start, start + _TOGETHER) for start in range(0, rows, _TOGETHER))


def _column(name: str, values: NDArray[np.generic], unnamed: str | None) -> tuple[CardColumn, Floats]:
    if column_kind(values) == "categorical":
        texts = category_names(values).tolist()
        levels = tuple(sorted({text for text in texts if text not in (None, unnamed)}))
        place = {level: index for index, level in enumerate(levels)}
        lacks = None in texts
        coordinates = np.zeros((len(texts), len(levels) + lacks))
        for row, text in enumerate(texts):
            if text is None:
                coordinates[row, -1] = 1.0
            elif text != unnamed:
                coordinates[row, place[text]] = 1.0
        return CardColumn(name, "categorical", 1, levels, lacks), coordinates
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    kind = "block" if values.ndim == 2 else "numeric"
    holes = np.isnan(numbers)
    if not holes.any():
        return CardColumn(name, kind, numbers.shape[1]), numbers
    there = np.maximum((~holes).sum(axis=0), 1)
    middle = np.where(holes, 0.0, numbers).sum(axis=0) / there
    filled = np.where(holes, middle, numbers)
    return CardColumn(name, kind, numbers.shape[1], lacks=True), np.hstack([filled, holes.astype(float)])
