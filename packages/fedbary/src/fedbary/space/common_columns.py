"""Which columns all parties of a run use: one that some cannot use is left out for everybody, and named once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fedbary.data.agreed import Difference, agreed_reading, differences
from fedbary.data.reading import Reading, columns_made
from fedbary.errors import SchemaError
from fedbary.notes import Fact, Note
from fedbary.space.description import Description
from fedbary.space.encode import read_otherwise
from fedbary.wording import on_one_line

LEFT_OUT, OF_FEW = "schema.column-left-out", "schema.column-of-few"
_REFERENCE = "the reference"
_WORDS = {"numeric": "numbers", "categorical": "categories", "classes": "classes", "number": "a number"}
_TROUBLES = ("lacking", "otherwise", "unusable")
# Columns as somebody has them: kinds and widths by name.
Layout = frozenset[tuple[str, str, int]]


@dataclass(frozen=True)
class Common:
    """What the parties agree on.

    Attributes
    ----------
    descriptions : mapping
        Each client that takes part, described by the columns that are used.
    reference : Description, optional
        The reference, likewise.
    reading : Reading
        How these columns are read.
    notes : tuple of Note
        Why columns are left out, one note for each.
    refused : mapping
        Clients without a place beside the others: of another kind of label, or without half of the columns.
    """

    descriptions: Mapping[str, Description]
    reference: Description | None
    reading: Reading
    notes: tuple[Note, ...]
    refused: Mapping[str, Note]


def common_columns(descriptions: Mapping[str, Description], reference: Description | None = None) -> Common:
    """The columns that every party has, in the same kind, with values; the reference's, or those of most clients.

    Clients with the most of these come first. Who would bring the number of columns that are left out above half of all
    has another table, and is refused instead.
    """
    standard = [] if reference is None else [reference] * (len(descriptions) + 1)  # a majority of its own
    kind = Counter(one.label_kind for one in [*descriptions.values(), *standard]).most_common(1)[0][0]
    refused = {name: _other_label(one, kind) for name, one in descriptions.items() if one.label_kind != kind}
    parties = {name: _Party(one) for name, one in descriptions.items() if name not in refused}
    agreed = agreed_reading(one.reading for one in [*(party.described for party in parties.values()), *standard])
    judges = [_Party(reference)] if reference is not None else list(parties.values())
    votes: dict[str, Counter[Layout]] = {}
    for party in judges:
        for name, layout in party.columns.items():
            votes.setdefault(name, Counter())[layout] += 1
    holders = {name: sum(found.values()) for name, found in votes.items()}
    usual = {
        name: min(found, key=lambda layout: (-found[layout], sorted(layout)))  # an order that no arrival decides
        for name, found in votes.items()
        if 2 * holders[name] > len(judges)
    }
    trouble = {name: party.trouble(usual, agreed) for name, party in parties.items()}
    left_out = set() if reference is None else set(judges[0].trouble(usual, agreed))
    most = max(len(usual) // 2, len(left_out))
    for name in sorted(trouble, key=lambda name: (len(trouble[name]), sorted(trouble[name]))):
        more = left_out | set(trouble[name])
        if len(more) <= most and len(more) < len(usual):
            left_out = more
        else:
            refused[name] = parties[name].refusal(usual, agreed, len(parties) - 1 if reference is None else None)
    taking_part = {name: party for name, party in parties.items() if name not in refused}
    if not set(usual) - left_out:
        raise SchemaError("schema.no-usable-column", names=tuple(map(on_one_line, sorted(usual))))
    kept = frozenset(name for home in set(usual) - left_out for name, _, _ in usual[home])
    whose = {**taking_part, **({} if reference is None else {_REFERENCE: judges[0]})}
    described = {name: party.only(kept) for name, party in whose.items()}
    unused = sorted(_homes(whose.values()) - (set(usual) - left_out))
    return Common(
        {name: described[name] for name in taking_part},
        None if reference is None else described[_REFERENCE],
        agreed_reading(one.reading for one in described.values()),  # of nobody who is refused
        tuple(_note(home, whose, usual, agreed) for home in unused),
        refused,
    )


def reading_of(columns: frozenset[str], reading: Reading) -> Reading:
    """As much of a reading as makes these columns."""
    return Reading({name: how for name, how in reading.items() if set(columns_made(name, how)) <= columns})


class _Party:
    """A description by the columns of the file that its own were made of: a date is three of them."""

    def __init__(self, described: Description) -> None:
        self.described = described
        home = {made: name for name, how in described.reading.items() for made in columns_made(name, how)}
        layouts: dict[str, set[tuple[str, str, int]]] = {}
        for name, kind, width in described.layout:
            layouts.setdefault(home.get(name, name), set()).add((name, kind, width))
        self.columns: dict[str, Layout] = {name: frozenset(layout) for name, layout in layouts.items()}
        self.unusable = {home.get(column.name, column.name) for column in described.columns if column.unusable}

    def trouble(self, usual: Mapping[str, Layout], agreed: Reading) -> dict[str, str]:
        """Which of the usual columns it cannot use, and why."""
        otherwise = {one.column for one in differences(self.described.reading, agreed)}
        found = {}
        for name, layout in usual.items():
            if name not in self.columns:
                found[name] = "lacking"
            elif self.columns[name] != layout or name in otherwise:
                found[name] = "otherwise"
            elif name in self.unusable:
                found[name] = "unusable"
        return found

    def refusal(self, usual: Mapping[str, Layout], agreed: Reading, others: int | None) -> Note:
        """Why it has no place beside the others."""
        trouble = self.trouble(usual, agreed)
        if found := differences(self.described.reading, agreed):
            return Note("schema.read-otherwise", read_otherwise(found, others=others, whom=_REFERENCE))
        missing, extra = _names(usual.keys() - self.columns.keys()), _names(self.columns.keys() - usual.keys())
        if missing or extra:
            return Note("schema.columns-unlike-the-others", {"missing": missing, "extra": extra})
        return Note("schema.columns-of-another-kind", {"columns": _names(trouble)})

    def only(self, kept: frozenset[str]) -> Description:
        columns = tuple(column for column in self.described.columns if column.name in kept)
        return replace(self.described, columns=columns, reading=reading_of(kept, self.described.reading))


def _homes(parties: Iterable[_Party]) -> set[str]:
    return {name for party in parties for name in party.columns}


def _note(home: str, whose: Mapping[str, _Party], usual: Mapping[str, Layout], agreed: Reading) -> Note:
    """Who cannot use a column, in which way, and how it would be read in the same way by all."""
    column: dict[str, Fact] = {"column": on_one_line(home)}
    if home not in usual:
        return Note(OF_FEW, {**column, "only": _names(name for name, one in whose.items() if home in one.columns)})
    found = {name: party.trouble(usual, agreed).get(home) for name, party in whose.items()}
    who = {what: _names(name for name in found if found[name] == what) for what in _TROUBLES}
    if who["otherwise"]:
        first = next(party for name, party in whose.items() if found[name] == "otherwise")
        different = [one for one in differences(first.described.reading, agreed) if one.column == home]
        column |= _in_words(different, first.columns[home], usual[home])
    return Note(LEFT_OUT, {**column, **who})


def _in_words(different: list[Difference], own: Layout, usual: Layout) -> dict[str, Fact]:
    if different:
        return {key: fact for key, fact in different[0].facts().items() if key != "column"}
    words = (_WORDS.get(kind, f"vectors of {width:,} numbers") for _, kind, width in (min(own), min(usual)))
    return dict(zip(("own", "agreed"), words, strict=True))


def _other_label(described: Description, kind: str) -> Note:
    label = on_one_line(described.label_name)
    facts = {"label": label, "own": _WORDS[described.label_kind], "others": _WORDS[kind]}
    return Note("schema.labels-unlike-the-others", facts)


def _names(names: Iterable[str]) -> tuple[str, ...] | None:
    return tuple(map(on_one_line, sorted(names))) or None
