"""`Reading`: how each column of a file or frame becomes columns of a table; stated by its owner, agreed by everybody.

A kind is decided once: by the schema where there is one, else by rules on a column's type and cells
(`fedbary.data.guess`). From then on each cell is read by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from fedbary.strict_json import read_json
from fedbary.wording import is_clean

ReadKind = Literal[
    "number", "boolean", "category", "ordered", "date", "vector", "image", "text", "identifier", "dropped"
]
KINDS: tuple[str, ...] = get_args(ReadKind)
# Columns of these kinds are in the file and not in the table.
LEFT_OUT = ("identifier", "dropped")
# What a column of dates becomes, besides its days since 1970.
MONTH, WEEKDAY = "{} (month)", "{} (weekday)"
# How one owner writes its cells.
_OWN = ("decimal", "order")
_MOST_COLUMNS, _MOST_LEVELS, _MOST_NUMBERS, _LONGEST_NAME, _LONGEST = 100_000, 1_000, 10**6, 10_000, 64 * 2**20


@dataclass(frozen=True)
class ColumnReading:
    """One column of a file: its kind, and what else is needed to read a cell of it.

    Parameters
    ----------
    kind : str
        ``number``, ``boolean``, ``category``; ``ordered`` (the place of its level among ``levels``); ``date`` (days,
        and month and weekday on circles); ``vector``; ``image`` and ``text`` (numbers by an encoder); ``identifier``
        and ``dropped`` are left out.
    levels : tuple of str
        The levels of an ordered category, lowest first.
    encoder, digest : str
        The encoder of images or texts, and the digest of what it computes.
    width : int
        How many numbers a vector has; 0 for all other kinds.
    decimal, order : str
        How this owner writes numbers (``.`` or ``,``) and dates (``dmy`` or ``mdy``) as text, empty where each cell
        says it by itself; nobody else's business.
    """

    kind: ReadKind
    levels: tuple[str, ...] = ()
    encoder: str = ""
    digest: str = ""
    width: int = 0
    decimal: str = field(default="", compare=False)
    order: str = field(default="", compare=False)


@dataclass(frozen=True)
class Reading(Mapping[str, ColumnReading]):
    """Column of the file → how it is read.

    Examples
    --------
    >>> reading = Reading({"admitted": ColumnReading("date"), "id": ColumnReading("identifier")})
    >>> reading.columns()
    ('admitted', 'admitted (month)', 'admitted (weekday)')
    >>> Reading.from_json(reading.to_json()) == reading
    True
    """

    of: Mapping[str, ColumnReading] = field(default_factory=dict)

    def __getitem__(self, name: str) -> ColumnReading:
        return self.of[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and dict(self.of) == dict(other.of)

    __hash__ = None  # type: ignore[assignment]

    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it makes, in order."""
        return tuple(made for name, column in self.of.items() for made in columns_made(name, column))

    def stated(self) -> Reading:
        """What its owner tells others: the columns that are used."""
        return Reading({name: column for name, column in self.of.items() if column.kind not in LEFT_OUT})

    def to_json(self) -> str:
        """Serialise for a schema, a card or a description."""
        content = {
            name: {key: value for key, value in vars(column).items() if value and key not in _OWN}
            for name, column in self.of.items()
        }
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """What `to_json` wrote; raises ValueError, and nothing else, for anything else."""
        content = read_json(text, longest=_LONGEST)
        if not isinstance(content, dict) or len(content) > _MOST_COLUMNS:
            raise ValueError("not a reading")
        return cls({_name(name): _column(found) for name, found in content.items()})


def columns_made(name: str, column: ColumnReading) -> tuple[str, ...]:
    """The columns of a table that one column of a file becomes."""
    if column.kind in LEFT_OUT:
        return ()
    return (name, MONTH.format(name), WEEKDAY.format(name)) if column.kind == "date" else (name,)


def _column(found: object) -> ColumnReading:
    if not isinstance(found, dict) or not found.keys() <= {"kind", "levels", "encoder", "digest", "width"}:
        raise ValueError("not the reading of a column")
    levels = found.get("levels", [])
    if found.get("kind") not in KINDS or not isinstance(levels, list) or len(levels) > _MOST_LEVELS:
        raise ValueError("no kind, or no levels")
    width = found.get("width", 0)
    if type(width) is not int or not 0 <= width <= _MOST_NUMBERS:
        raise ValueError("not a width")
    encoder, digest = (_name(found.get(key, "")) for key in ("encoder", "digest"))
    return ColumnReading(found["kind"], tuple(_name(level) for level in levels), encoder, digest, width)


def _name(text: object) -> str:
    if not isinstance(text, str) or len(text) > _LONGEST_NAME or not is_clean(text):
        raise ValueError("not a name")
    return text
