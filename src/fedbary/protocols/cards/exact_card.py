"""`exact_card`: the class moments of a table, to the last digit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.protocols.cards.card import Card, CardColumn
from fedbary.space.encode import category_texts, column_kind
from fedbary.space.labels import class_names, label_kind
from fedbary.space.options import Task
from fedbary.space.row_identity import different_rows

Floats = NDArray[np.float64]


def exact_card(table: Table, *, name: str = "", task: Task = "auto", shared: bool = False) -> Card:
    """The card of a table, each different row counted once, without any guard.

    Examples
    --------
    >>> import fedbary as fb
    >>> card = exact_card(fb.Table({"age": [30.0, 50.0, 40.0]}, ["a", "b", "a"]))
    >>> card.classes, card.counts, card.centre, card.sums[0]
    (('a', 'b'), array([2., 1.]), array([40.]), array([-10.]))
    """
    kind = label_kind(table.labels, task, name=table.label_name)
    different = different_rows(table)
    columns, points = card_points(different)
    if kind == "number":
        classes, codes = ("",), np.zeros(len(different), dtype=np.int64)
        points = np.column_stack([points, np.asarray(different.labels, dtype=float)])
    else:
        names, codes = np.unique(class_names(different.labels), return_inverse=True)
        classes = tuple(names.tolist())
    centre, counts, sums, second = class_sums(points, codes, len(classes))
    return Card(name, len(table), table.label_name, kind, columns, classes, centre, counts, sums, second, shared=shared)


def card_points(table: Table) -> tuple[tuple[CardColumn, ...], Floats]:
    """The columns and the rows as points z; missing cells lie at the mean of the others, and are marked."""
    columns, parts = [], []
    for name, values in table.columns.items():
        column, coordinates = _column(name, values)
        columns.append(column)
        parts.append(coordinates)
    return tuple(columns), np.hstack(parts) if parts else np.zeros((len(table), 0))


def class_sums(points: Floats, codes: NDArray[np.int64], classes: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Centre, counts, sums and second moment; about the mean, so that large numbers do not cancel."""
    centre = points.mean(axis=0)
    centred = points - centre
    counts = np.bincount(codes, minlength=classes).astype(float)
    sums = np.zeros((classes, points.shape[1]))
    np.add.at(sums, codes, centred)
    return centre, counts, sums, centred.T @ centred


def _column(name: str, values: NDArray[np.generic]) -> tuple[CardColumn, Floats]:
    if column_kind(values) == "categorical":
        texts = category_texts(values)
        levels = tuple(sorted({text for text in texts if text is not None}))
        place = {level: index for index, level in enumerate(levels)}
        lacks = None in texts
        coordinates = np.zeros((len(texts), len(levels) + lacks))
        coordinates[np.arange(len(texts)), [len(levels) if text is None else place[text] for text in texts]] = 1.0
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
