"""How a column of a file is read: a class for each kind of column, and what cells, arrays and readings of them are."""

from __future__ import annotations

from fedbary.columns.arrays import Array, kind_of
from fedbary.columns.category import Category, Dropped, Identifier, Ordered
from fedbary.columns.column import Clues, Column
from fedbary.columns.date import Date
from fedbary.columns.duration import Duration
from fedbary.columns.encoded import Encoded, Image, Text, Vector
from fedbary.columns.number import Boolean, Number

# From what any cell can be read as to what hardly any can. A column is guessed from the end: the first kind that takes
# it is its kind. And where as many parties say one kind as another, the earlier one wins.
KINDS: tuple[type[Column], ...] = (
    Dropped, Identifier, Category, Duration, Text, Image, Vector, Ordered, Date, Number, Boolean,
)  # fmt: skip
BY_NAME = {kind.kind: kind for kind in KINDS}

__all__ = [
    "BY_NAME",
    "KINDS",
    "Boolean",
    "Category",
    "Clues",
    "Column",
    "Date",
    "Dropped",
    "Duration",
    "Encoded",
    "Identifier",
    "Image",
    "Number",
    "Ordered",
    "Text",
    "Vector",
    "column_of",
    "guess",
]


def column_of(values: Array) -> Column:
    """What an array of a table is, where no reading says how it was read."""
    kinds = {"number": Number(), "bool": Boolean(), "text": Category()}
    return Vector(values.shape[1]) if values.ndim == 2 else kinds[kind_of(values)]


def guess(clues: Clues) -> Column:
    """The kind that takes a column; raises a DataError where its cells contradict each other."""
    return next(column for kind in reversed(KINDS) if (column := kind.guess(clues)) is not None)
