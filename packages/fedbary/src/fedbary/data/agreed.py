"""Readings side by side: where two of them differ, and what several agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields

from fedbary.data.reading import LEFT_OUT, ColumnReading, Reading
from fedbary.notes import Fact
from fedbary.wording import on_one_line

# From what any cell can be read as to what hardly any can: where as many parties say one as the other, the first wins.
_EASIEST = ("dropped", "identifier", "category", "text", "image", "vector", "ordered", "date", "number", "boolean")
_WORDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "categories",
    "date": "dates",
    "vector": "vectors",
    "identifier": "an identifier to leave out",
    "dropped": "a column to leave out",
}
_OPTIONS = {"category": "categories", "date": "dates", "number": "numeric", "boolean": "numeric"}
_LONGEST, _MOST_LEVELS = 200, 5


@dataclass(frozen=True)
class Difference:
    """A column that two parties read in different ways."""

    column: str
    own: ColumnReading
    agreed: ColumnReading

    def facts(self) -> dict[str, Fact]:
        """The facts of the sentence: the column, both sides in words, and the option to ask for.

        Any cell can be a category, and not any a number: so the option is that of the side that more cells fit.
        """
        name, value = self._option()
        own, agreed = (
            _in_words(one, digest=self.own.encoder == self.agreed.encoder) for one in (self.own, self.agreed)
        )
        return {"column": on_one_line(self.column), "own": own, "agreed": agreed, "name": name, "value": value}

    def _option(self) -> tuple[str, str] | tuple[None, None]:
        column = on_one_line(self.column, _LONGEST)
        if self.agreed.kind == "ordered" and self.own.kind != "category":
            return "ordered", on_one_line(f"{self.column}={'<'.join(self.agreed.levels)}", _LONGEST)
        if self.agreed.encoder and self.own.encoder != self.agreed.encoder:
            return "encoder", on_one_line(self.agreed.encoder, _LONGEST)
        for side in sorted((self.own, self.agreed), key=lambda side: _EASIEST.index(side.kind)):
            if side.kind in _OPTIONS:
                return _OPTIONS[side.kind], column
        return None, None


def differences(own: Reading, agreed: Reading) -> list[Difference]:
    """The columns that two parties read in different ways; what only one of them says is none."""
    return [
        Difference(name, own[name], column)
        for name, column in agreed.items()
        if name in own and _meaning(own[name]) != _meaning(column)
    ]


def agreed_reading(readings: Iterable[Reading]) -> Reading:
    """Each column as most parties that say something of it read it."""
    votes: dict[str, Counter[ColumnReading]] = {}
    for reading in readings:
        for name, column in reading.items():
            votes.setdefault(name, Counter())[column] += 1
    return Reading({name: _most_say(found) for name, found in votes.items()})


def _most_say(votes: Counter[ColumnReading]) -> ColumnReading:
    together: Counter[ColumnReading] = Counter()
    for column, count in votes.items():
        together[_meaning(column)] += count
    # An order that no arrival decides.
    order = sorted(votes, key=lambda column: (-votes[column], _EASIEST.index(column.kind), repr(column)))
    first = min(order, key=lambda column: (-together[_meaning(column)], _EASIEST.index(_meaning(column).kind)))
    # How one of them writes its cells is nobody else's way.
    return ColumnReading(**{one.name: getattr(first, one.name) for one in fields(first) if one.compare})


def _meaning(column: ColumnReading) -> ColumnReading:
    """One maker's 0 and 1 are another's False and True."""
    return ColumnReading("number") if column.kind == "boolean" else column


def _in_words(column: ColumnReading, *, digest: bool) -> str:
    if column.kind == "vector" and column.width:
        return f"vectors of {column.width:,} numbers"
    if column.kind in LEFT_OUT or not (column.levels or column.encoder):
        return _WORDS.get(column.kind, column.kind)
    if column.kind == "ordered":
        more = " < …" if len(column.levels) > _MOST_LEVELS else ""
        return f"ordered levels {' < '.join(map(on_one_line, column.levels[:_MOST_LEVELS]))}{more}"
    what = {"image": "images", "text": "text"}.get(column.kind, column.kind)
    version = f" of digest {on_one_line(column.digest, 12)}" if digest and column.digest else ""
    return f"{what} by the encoder {on_one_line(column.encoder)}{version}"
