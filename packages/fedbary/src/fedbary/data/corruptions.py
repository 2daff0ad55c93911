"""Ways to spoil a table on purpose, each with the mask of the rows it changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fedbary.columns.arrays import Array, kind_of, missing_rows
from fedbary.data.table import Table
from fedbary.errors import SettingsError, wrong_parameter

Mask: TypeAlias = npt.NDArray[np.bool_]
Seed: TypeAlias = int | np.random.Generator | None


def flip_labels(
    table: Table,
    share: float,
    *,
    kind: Literal["uniform", "pair"] = "uniform",
    classes: Iterable[Any] | None = None,
    seed: Seed = 0,
) -> tuple[Table, Mask]:
    """Give a random share of the rows a wrong label.

    Parameters
    ----------
    table, share
        Exactly ``round(share · rows)`` rows are chosen.
    kind
        ``"uniform"``: another class, all equally likely; ``"pair"``: the next class in sorted order,
        the last one becoming the first.
    classes
        All classes, where the table may not show every one of them.
    seed
        Seed or generator.

    Returns
    -------
    Table and mask
        The mask marks the rows whose label changed. Labels that are a quantity are exchanged among
        the chosen rows; a row keeps its label only if more than half of the chosen rows share it.

    Examples
    --------
    >>> spoilt, mask = flip_labels(Table({"x": np.zeros(4)}, labels=np.array([0, 0, 1, 1])), 0.5)
    >>> int(mask.sum()), bool((spoilt.labels != [0, 0, 1, 1])[mask].all())
    (2, True)
    """
    if kind not in ("uniform", "pair"):
        raise wrong_parameter("kind", "flip_labels", "'uniform' or 'pair'", kind)
    rng = np.random.default_rng(seed)
    chosen = _choose(len(table), share, rng)
    labels = table.labels.copy()
    if not table.has_classes and classes is None:
        if kind == "pair":
            raise SettingsError("data.pair-flips-need-classes")
        labels[chosen] = _exchanged(labels[chosen], rng)
    else:
        known = _known_classes(table, classes)
        step = 1 if kind == "pair" else rng.integers(1, len(known), size=len(chosen))
        labels[chosen] = known[(np.searchsorted(known, labels[chosen]) + step) % len(known)]
    return table.replace(labels=labels), np.asarray(labels != table.labels, dtype=bool)


def add_noise(table: Table, share: float, *, sigma: float = 1.0, seed: Seed = 0) -> tuple[Table, Mask]:
    """Add Gaussian noise to the features of a random share of the rows.

    The noise of a numeric column has ``sigma`` times the column's standard deviation, that of a block
    ``sigma`` times the root of its mean variance; a constant counts as having deviation 1. Text and
    booleans stay as they are, and so do missing values.

    Examples
    --------
    >>> noisy, mask = add_noise(Table({"x": np.zeros(4)}, labels=np.zeros(4)), 0.5)
    >>> bool(((noisy.columns["x"] != 0) == mask).all())
    True
    """
    if not (sigma >= 0 and np.isfinite(sigma)):
        raise wrong_parameter("sigma", "add_noise", "a number that is not negative", sigma)
    if not any(kind_of(column) in ("number", "block") for column in table.columns.values()):
        raise SettingsError("data.nothing-numeric", columns=tuple(table.column_names))
    rng = np.random.default_rng(seed)
    chosen = _choose(len(table), share, rng)
    mask = np.zeros(len(table), dtype=bool)
    mask[chosen] = sigma > 0
    columns = dict(table.columns)
    for name, column in table.columns.items():
        if kind_of(column) in ("number", "block") and mask.any():
            noise = rng.standard_normal((len(chosen), *column.shape[1:]), dtype=column.dtype)
            noise *= sigma * _spread(column)
            columns[name] = column.copy()
            columns[name][chosen] += noise
    return table.replace(columns=columns), mask


def shuffle_pixels(table: Table, share: float, *, seed: Seed = 0) -> tuple[Table, Mask]:
    """Put the pixels of a random share of the images into random order, each image in one of its own.

    Images are the rows of blocks; other columns stay as they are. The mask marks the rows that changed: an image whose
    pixels are all alike does not.

    Examples
    --------
    >>> image = np.arange(6.0)
    >>> shuffled, mask = shuffle_pixels(Table({"x": np.array([image, image])}, labels=np.zeros(2)), 0.5)
    >>> int(mask.sum()), bool((np.sort(shuffled.columns["x"]) == image).all())
    (1, True)
    """
    blocks = [name for name, column in table.columns.items() if kind_of(column) == "block"]
    if not blocks:
        raise SettingsError("data.nothing-to-shuffle", columns=tuple(table.column_names))
    rng = np.random.default_rng(seed)
    chosen = _choose(len(table), share, rng)
    columns, mask = dict(table.columns), np.zeros(len(table), dtype=bool)
    for name in blocks:
        before = table.columns[name]
        columns[name] = before.copy()
        columns[name][chosen] = rng.permuted(before[chosen], axis=1)
        mask |= ((columns[name] != before) & ~(np.isnan(columns[name]) & np.isnan(before))).any(axis=1)
    return table.replace(columns=columns), mask


def duplicate_rows(table: Table, share: float, *, seed: Seed = 0) -> tuple[Table, Mask]:
    """Append copies of a random share of the rows; the mask marks the copies.

    Examples
    --------
    >>> longer, mask = duplicate_rows(Table({"x": np.arange(4)}, labels=np.zeros(4)), 0.5)
    >>> len(longer), mask
    (6, array([False, False, False, False,  True,  True]))
    """
    return _append(table, _choose(len(table), share, np.random.default_rng(seed)))


def repeat_row(table: Table, row: int, times: int) -> tuple[Table, Mask]:
    """Append copies of the row at one position; the mask marks the copies.

    Examples
    --------
    >>> longer, mask = repeat_row(Table({"x": [5, 7]}, labels=[0, 1]), row=1, times=2)
    >>> longer.columns["x"]
    array([5., 7., 7., 7.])
    """
    if not 0 <= row < len(table):
        raise wrong_parameter("row", "repeat_row", f"a position from 0 to {len(table) - 1}", row)
    if times < 0:
        raise wrong_parameter("times", "repeat_row", "a number that is not negative", times)
    return _append(table, np.full(times, row, dtype=np.intp))


def _choose(rows: int, share: float, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    if not 0 <= share <= 1:
        raise wrong_parameter("share", "corruptions", "a share of the rows from 0 to 1", share)
    return np.sort(rng.choice(rows, size=round(share * rows), replace=False))


def _known_classes(table: Table, classes: Iterable[Any] | None) -> Array:
    """All classes in sorted order, of the labels' own type."""
    present = np.unique(table.labels)
    if classes is None:
        known = present
    else:
        given = np.empty(len(listed := list(classes)), dtype=object)
        given[:] = listed
        known = np.unique(given.astype(table.labels.dtype))
        unknown = np.setdiff1d(present, known)
        if len(unknown):
            raise SettingsError("data.class-not-listed", label=str(unknown.tolist()[0]))
    if len(known) < 2:
        raise SettingsError("data.one-class-to-flip", classes=tuple(map(str, known.tolist())))
    return known


def _exchanged(values: Array, rng: np.random.Generator) -> Array:
    """Shuffle values so that none stays where an equal one was, as far as that is possible.

    A value v that meets itself is swapped with a place that neither held nor holds v. Where v fills at
    most half of the places there always is one, and the swap makes no new meeting.
    """
    moved = rng.permutation(values)
    for place in np.flatnonzero(moved == values):
        partners = np.flatnonzero((moved != values[place]) & (values != moved[place]))
        if moved[place] == values[place] and len(partners):
            partner = rng.choice(partners)
            moved[[place, partner]] = moved[[partner, place]]
    return moved


def _spread(column: Array) -> float:
    present = column[~missing_rows(column)]
    variance = float(np.mean(np.var(present, axis=0, dtype=np.float64))) if len(present) else 0.0
    return variance**0.5 if variance > 0 else 1.0


def _append(table: Table, copied: npt.NDArray[np.intp]) -> tuple[Table, Mask]:
    rows = len(table)
    order = np.concatenate([np.arange(rows), copied])
    ids = None if table.ids is None else np.concatenate([table.ids, _fresh_ids(table.ids, copied)])
    longer = table.replace(ids=None).take(order).replace(ids=ids)
    return longer, np.arange(len(order)) >= rows


def _fresh_ids(ids: Array, copied: npt.NDArray[np.intp]) -> Array:
    """Name the copies: numbers above the largest, or the text id with #2, #3, … behind it."""
    if ids.dtype.kind in "iuf":
        return np.asarray(ids.max() + 1 + np.arange(len(copied)), dtype=ids.dtype)
    taken = set(ids.tolist())
    fresh = np.empty(len(copied), dtype=object)
    for place, source in enumerate(ids[copied]):
        number = 2
        while (name := f"{source}#{number}") in taken:
            number += 1
        taken.add(name)
        fresh[place] = name
    return fresh
