"""Reading rows off a card: where one row alone has something, sums over what it has are that row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbary.auditing.card_questions import card_from
from fedbary.auditing.finding import RECONSTRUCTION, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import NOBODY, Scene
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.cards.card import Card

Floats = NDArray[np.float64]

# In standard deviations: one huge cell drowns the other rows to about this, and so close by chance is nobody.
_CLOSE = 1e-3
_HUGE = 1e6
_MARK = "a column of the owner's"


def card_rows(scene: Scene) -> Finding | None:
    """Share of odd rows that are read; None where there are not two columns of numbers to read."""
    rng = scene.rng("card rows")
    plain = scene.table.take(scene.others(rng, scene.some))
    numbers = [name for name, column in plain.columns.items() if column.dtype.kind == "f"]
    columns = sum(plain.columns[name].reshape(len(plain), -1).shape[1] for name in numbers)
    if columns < 2:
        return None
    outcomes = []
    for odd, changed in _odd_tables(plain, numbers[0]):
        with scene.defence.owner(odd, rng) as owner:
            card = card_from(owner, scene)
        outcomes.append(card is not None and _is_read(card, odd, changed))
    return measured(
        "reading odd rows",
        RECONSTRUCTION,
        Note("audit.card-rows", {"rows": len(outcomes)}),
        Rate.of(sum(outcomes), len(outcomes)),
        Promises.of(scene.defence).averages,
    )


def _odd_tables(table: Table, name: str) -> Iterator[tuple[Table, str]]:
    """The table with something in its first row that no other has, and the column that has it."""
    column, first = table.columns[name], np.arange(len(table)) == 0
    wide = first if column.ndim == 1 else np.arange(column.size).reshape(column.shape) == 0
    for cell in (np.nan, _HUGE * (np.nanstd(column) or 1.0)):
        yield table.replace(columns={**table.columns, name: np.where(wide, cell, column)}), name
    levels = np.where(first, NOBODY, np.where(np.arange(len(table)) % 2, "one", "another")).astype(object)
    halves = (np.arange(len(table)) % 2).astype(float)
    for added in (first.astype(float), levels):
        yield table.replace(columns={**table.columns, _MARK: added}), _MARK
    for like in (halves, 1.0 - halves):
        twin = np.where(first, 1.0 - like, like)
        yield table.replace(columns={**table.columns, _MARK: halves, f"{_MARK} again": twin}), _MARK
    if table.has_classes:
        yield table.replace(labels=np.where(first, NOBODY, table.labels.astype(str))), ""


def _is_read(card: Card, table: Table, changed: str) -> bool:
    """Whether a sum over part of the rows is the first row, in all numbers but those that were made odd."""
    if card.schema is not None:
        return False  # sums with noise, of rows that were clipped
    places, truth, scale, start = list[int](), list[float](), list[float](), 0
    for column in card.columns:
        values = table.columns[column.name]
        if values.dtype.kind == "f" and not column.name.startswith(changed or "\0"):
            block = values.reshape(len(values), -1)
            places += range(start, start + block.shape[1])
            truth += block[0].tolist()
            scale += np.nanstd(block, axis=0).tolist()
        start += column.coordinates
    claims = np.vstack([np.empty((0, card.width)), *_claims(card)])[:, places]
    missed = np.abs(claims - np.array(truth)) / np.maximum(scale, 1e-12)
    return bool((np.nan_to_num(missed, nan=np.inf).max(axis=1) < _CLOSE).any())


def _claims(card: Card) -> Iterator[Floats]:
    """Means of rows, weighted by what a combination of columns is in them: one row, where it is zero in all others."""
    raw = card.about(np.zeros(card.width))
    total, rows = raw.sums.sum(axis=0), raw.counts.sum()
    with np.errstate(all="ignore"):
        yield raw.sums / raw.counts[:, None]
        if not raw.full:
            return
        yield raw.second / total[:, None]
        yield (total - raw.second) / (rows - total)[:, None]
        # About its mean, a huge cell alone makes up its column.
        yield card.centre + card.second / np.sqrt(np.diag(card.second))[:, None]
        yield card.centre - card.second / np.sqrt(np.diag(card.second))[:, None]
        one, two = np.triu_indices(card.width, 1)
        for sign, constant in ((-1.0, 0.0), (1.0, 1.0)):
            weights = raw.second[one] + sign * raw.second[two] - constant * total
            yield weights / (total[one] + sign * total[two] - constant * rows)[:, None]
