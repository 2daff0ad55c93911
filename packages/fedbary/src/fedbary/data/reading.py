"""`Reading`: how each column of a file or frame becomes columns of a table; stated by its owner, agreed by everybody.

A kind is decided once: by the schema where there is one, else by rules on a column's type and cells
(`fedbary.data.reader`). From then on each cell is read by itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from fedbary.columns import BY_NAME, KINDS, Category, Column, Encoded, Ordered
from fedbary.columns.column import clean_name
from fedbary.notes import Fact
from fedbary.strict_json import read_json
from fedbary.wording import on_one_line

_MOST_COLUMNS, _LONGEST, _LONGEST_OPTION = 100_000, 64 * 2**20, 200


@dataclass(frozen=True)
class Reading(Mapping[str, Column]):
    """Column of the file → how it is read.

    Examples
    --------
    >>> from fedbary.columns import Date, Identifier
    >>> reading = Reading({"admitted": Date(), "id": Identifier()})
    >>> reading.columns()
    ('admitted', 'admitted (month)', 'admitted (weekday)')
    >>> Reading.from_json(reading.to_json()) == reading
    True
    """

    of: Mapping[str, Column] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Column:
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
        return tuple(made for name, column in self.of.items() for made in column.made(name))

    def stated(self) -> Reading:
        """What its owner tells others: the columns that are used."""
        return Reading({name: column for name, column in self.of.items() if not column.left_out})

    def to_json(self) -> str:
        """Serialise for a schema, a card or a description."""
        return json.dumps({name: column.to_json() for name, column in self.of.items()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Reading:
        """What `to_json` wrote; raises ValueError, and nothing else, for anything else."""
        content = read_json(text, longest=_LONGEST)
        if not isinstance(content, dict) or len(content) > _MOST_COLUMNS:
            raise ValueError("not a reading")
        return cls({clean_name(name): _column(found) for name, found in content.items()})


def _column(found: object) -> Column:
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(kind, str) or kind not in BY_NAME:
        raise ValueError("not the reading of a column")
    return BY_NAME[kind].from_json(found)


@dataclass(frozen=True)
class Difference:
    """A column that two parties read in different ways."""

    column: str
    own: Column
    agreed: Column

    def facts(self) -> dict[str, Fact]:
        """The facts of the sentence: the column, both sides in words, and the option to ask for.

        Any cell can be a category, and not any a number: so the option is that of the side that more cells fit.
        """
        name, value = self._option()
        own, agreed = self.own.in_words, self.agreed.in_words
        if _encoder(self.own) == _encoder(self.agreed):
            own, agreed = own + _version(self.own), agreed + _version(self.agreed)
        shown = None if value is None else on_one_line(value, _LONGEST_OPTION)
        return {"column": on_one_line(self.column), "own": own, "agreed": agreed, "name": name, "value": shown}

    def _option(self) -> tuple[str, str] | tuple[None, None]:
        own, agreed = self.own, self.agreed
        if isinstance(agreed, Ordered) and not isinstance(own, Category):
            return agreed.option, agreed.option_value(self.column)
        if _encoder(agreed) not in ("", _encoder(own)):
            return "encoder", _encoder(agreed)
        for side in sorted((own, agreed), key=_ease):
            if side.option and not isinstance(side, Ordered):
                return side.option, side.option_value(self.column)
        return None, None


def _encoder(column: Column) -> str:
    return column.encoder if isinstance(column, Encoded) else ""


def _version(column: Column) -> str:
    said = isinstance(column, Encoded) and column.encoder and column.digest
    return f" of digest {on_one_line(said, 12)}" if said else ""


def differences(own: Reading, agreed: Reading) -> list[Difference]:
    """The columns that two parties read in different ways; what only one of them says is none."""
    return [
        Difference(name, own[name], column)
        for name, column in agreed.items()
        if name in own and own[name].meaning != column.meaning
    ]


def agreed_reading(readings: Iterable[Reading]) -> Reading:
    """Each column as most parties that say something of it read it."""
    votes: dict[str, Counter[Column]] = {}
    for reading in readings:
        for name, column in reading.items():
            votes.setdefault(name, Counter())[column] += 1
    return Reading({name: _most_say(found) for name, found in votes.items()})


def _most_say(votes: Counter[Column]) -> Column:
    together: Counter[Column] = Counter()
    for column, count in votes.items():
        together[column.meaning] += count
    # An order that no arrival decides.
    order = sorted(votes, key=lambda column: (-votes[column], _ease(column), repr(column.shared())))
    return min(order, key=lambda column: (-together[column.meaning], _ease(column.meaning))).shared()


def _ease(column: Column) -> int:
    """Where as many parties say one kind as another, that which more cells can be read as wins."""
    return KINDS.index(type(column))
