"""What the columns and the label of a table hold, as its owner wants to see it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable
from fedbary.columns import BY_NAME
from fedbary.space.labels import class_names
from fedbary.wording import dash, number, on_one_line

_MOST_NAMED = 5


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the file.

    Parameters
    ----------
    name, kind : str
        Its name, and how it is read: ``number``, ``category``, ``date``, … ``identifier`` and ``dropped`` are left out.
    guessed : bool
        Whether nobody said so: neither a schema, nor a reference, nor an option.
    missing : int, optional
        Cells without a value; not known of columns that are left out.
    levels : int, optional
        Different values.
    low, middle, high : float or str, optional
        The range of numbers and dates, and their median.
    frequent : tuple of str
        The most frequent levels of a category.
    """

    name: str
    kind: str
    guessed: bool
    missing: int | None = None
    levels: int | None = None
    low: float | str | None = None
    middle: float | str | None = None
    high: float | str | None = None
    frequent: tuple[str, ...] = ()

    @property
    def used(self) -> bool:
        """Whether the column becomes part of the table."""
        return not BY_NAME[self.kind].left_out

    @property
    def constant(self) -> bool:
        """Whether all cells that have a value say the same."""
        return self.levels is not None and self.levels <= 1

    def to_json(self) -> dict[str, Any]:
        """The facts for programs."""
        return asdict(self) | {"frequent": list(self.frequent), "used": self.used, "constant": self.constant}


@dataclass(frozen=True)
class LabelFacts:
    """The label: classes with their rows, the largest first, or the range of a number."""

    name: str
    classes: tuple[tuple[str, int], ...] = ()
    low: float | None = None
    mean: float | None = None
    high: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The facts for programs."""
        if self.classes:
            return {"name": self.name, "classes": [{"class": name, "rows": rows} for name, rows in self.classes]}
        return {"name": self.name, "low": self.low, "mean": self.mean, "high": self.high}


def described_columns(coded: CodedTable, said: Collection[str]) -> tuple[ColumnFacts, ...]:
    """The columns of the file that a table was read from; the kinds of those in ``said`` were not guessed.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> (age,) = described_columns(CodedTable.of(Table({"age": [31.0, 45.0, 33.0]}, ["a", "b", "a"])), said=())
    >>> age.kind, age.low, age.middle, age.high
    ('number', 31.0, 33.0, 45.0)
    """
    return tuple(
        _described(name, coded.kind(name), coded.columns[name], guessed=name not in said)
        if name in coded.columns
        else ColumnFacts(name, coded.kind(name), guessed=name not in said)
        for name in coded.table.reading or coded.columns
    )


def described_label(coded: CodedTable) -> LabelFacts:
    """The label of a table."""
    table = coded.table
    if not table.has_classes:
        labels = np.asarray(table.labels, dtype=float)
        return LabelFacts(
            table.label_name, low=float(labels.min()), mean=float(labels.mean()), high=float(labels.max())
        )
    names, counts = class_names(coded.labels.values).tolist(), coded.labels.counts.tolist()
    return LabelFacts(table.label_name, tuple(sorted(zip(names, counts, strict=True), key=lambda one: (-one[1], one))))


def _described(name: str, kind: str, column: Coded, *, guessed: bool) -> ColumnFacts:
    facts = ColumnFacts(name, kind, guessed, column.missing, len(column.values))
    if column.values.ndim == 1 and column.values.dtype.kind == "f" and len(column.values):
        ends = float(column.values.min()), _median(column), float(column.values.max())
        low, middle, high = map(day, ends) if kind == "date" else ends
        return replace(facts, low=low, middle=middle, high=high)
    if column.values.ndim == 1 and column.values.dtype.kind == "O":
        places = np.argsort(-column.counts, kind="stable")[:_MOST_NAMED]
        return replace(facts, frequent=tuple(str(column.values[place]) for place in places))
    return facts


def _median(column: Coded) -> float:
    return float(np.median(column.values[column.codes[column.codes >= 0]]))


def in_words(value: Any, kind: str) -> str:
    """A value of a column of that kind.

    Examples
    --------
    >>> in_words(0.0, "date"), in_words(7.0, "number"), in_words("Oslo", "category")
    ('1970-01-01', '7', 'Oslo')
    """
    if isinstance(value, str):
        return on_one_line(value)
    return day(float(value)) if kind == "date" else dash(value) if kind == "boolean" else number(value)


def day(days: float) -> str:
    """The date that is so many days after 1970-01-01."""
    try:
        return str(date(1970, 1, 1) + timedelta(days=int(np.floor(days))))
    except OverflowError:
        return f"day {days:g}"
