"""Findings: what may be wrong with a table, each with its code, how bad it is, how it is found and what ``--fix`` does.

An `Issue` is found in a part of a table: a column of numbers, the levels of a category, the classes of the label. A
`Look` says which parts a table has and which issues are looked for in each; `fedbary.checkup.check` lists all looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from re import compile as pattern
from typing import Any, Generic, TypeVar

import numpy as np

from fedbary.checkup.coded import Coded, CodedTable, in_words
from fedbary.columns import Column, Number
from fedbary.columns.category import category_names
from fedbary.columns.number_texts import numbers_of
from fedbary.filling import Dialect
from fedbary.notes import Fact, Note
from fedbary.protocols.sketch import Sketch
from fedbary.space.labels import class_names, other_coding
from fedbary.space.schema import Schema

Part = TypeVar("Part")
Facts = dict[str, Fact]
Find = Callable[[Part], Iterable[Facts]]

MIN_GROUP = Sketch().min_group
MOST_NAMED = 20
_BETWEEN_WORDS = pattern(r"[\s_]+|(?<=\w)-(?=\w)")
# Letters that a name must have for its case to mean nothing, unless it is known: Aa, AA and aa are three genotypes.
_LEAST_LETTERS = 3
_ALIKE = 0.8
# A class is rare below this share of what it would have if all were as large.
_RARE = 0.1
# A column with fewer values than this share of its rows is mostly missing.
_HALF = 0.5
# Rows for each class from which on it is no chance that a column says the same as the label.
_LEAST_ROWS = 10


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    REFUSED = "refused"  # a federation would refuse the table
    DOUBTFUL = "doubtful"  # probably wrong, and its owner should look at it
    NOTE = "note"  # worth knowing, and fine


@dataclass(frozen=True)
class Finding:
    """One thing that was found: a code with facts, and how bad it is. It stays with the owner."""

    note: Note
    severity: Severity

    @property
    def code(self) -> str:
        """What was found, for programs."""
        return self.note.code

    @property
    def column(self) -> str | None:
        """The column that it is about, if it is about one."""
        found = self.note.facts.get("column")
        return found if isinstance(found, str) else None

    @property
    def count(self) -> int | None:
        """How many cells, rows, levels or classes, where it is about so many."""
        found = self.note.facts.get("count")
        return found if isinstance(found, int) else None

    def text(self, dialect: Dialect | None = None) -> str:
        """The finding in words, without the file that all of them are about."""
        return Note(self.code, {name: fact for name, fact in self.note.facts.items() if name != "where"}).text(dialect)

    def __str__(self) -> str:
        return self.text()

    def to_json(self, dialect: Dialect | None = None) -> dict[str, Any]:
        """The finding for programs, and in words."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "column": self.column,
            "count": self.count,
            "facts": self.note.to_json().get("facts", {}),
            "text": self.text(dialect),
        }


@dataclass(frozen=True)
class Writing:
    """The different texts of a column as they are written, with their counts, and what is known of what they mean."""

    texts: Mapping[str, int]
    known: tuple[str, ...] = ()
    how: Column | None = None
    decimal: str | None = None


@dataclass(frozen=True)
class Fix:
    """What is certain to be meant otherwise than it is written: a code, and text → what is meant."""

    code: str
    changes: Callable[[Writing], dict[str, str]]


@dataclass(frozen=True)
class Issue(Generic[Part]):
    """One thing that may be wrong: its code, how bad it is, how it is found with its facts, and what can be done."""

    code: str
    severity: Severity
    find: Find[Part]
    fix: Fix | None


class Look(Generic[Part]):
    """The parts of a table of one kind, and what is looked for in each: functions that are marked as an `issue`."""

    def __init__(self, parts: Callable[[CodedTable, Schema | None], Iterable[Part]]) -> None:
        self._parts, self.issues = parts, list[Issue[Part]]()

    def issue(self, code: str, severity: Severity, *, fix: Fix | None = None) -> Callable[[Find[Part]], Find[Part]]:
        """Look for what a function finds: it takes a part and gives the facts of each finding."""

        def mark(find: Find[Part]) -> Find[Part]:
            self.issues.append(Issue(code, severity, find, fix))
            return find

        return mark

    def findings(self, coded: CodedTable, schema: Schema | None) -> Iterator[Finding]:
        """What is found, in the order of the parts."""
        for part in self._parts(coded, schema):
            for issue in self.issues:
                yield from (Finding(Note(issue.code, facts), issue.severity) for facts in issue.find(part))


# Names that are the same but for how they are written.


def spelling(name: str) -> str:
    """A name in small letters with one blank between its words; the same for all ways in which it is written."""
    return _BETWEEN_WORDS.sub(" ", name.strip()).casefold()


def written_differently(counts: Mapping[str, int]) -> dict[str, str]:
    """For each name in another spelling than others, the most frequent of that spelling; short ones may be codes."""
    groups: dict[str, list[str]] = {}
    for name in counts:
        if sum(letter.isalpha() for letter in name) >= _LEAST_LETTERS:
            groups.setdefault(spelling(name), []).append(name)
    ordered = (sorted(names, key=lambda one: -counts[one]) for names in groups.values())
    return {rare: usual for usual, *others in ordered for rare in others}


def respelled(names: Iterable[str], known: Sequence[str]) -> dict[str, str]:
    """For each name that is not known, the one known name that is written differently and is the same."""
    by_spelling: dict[str, list[str]] = {}
    for name in known:
        by_spelling.setdefault(spelling(name), []).append(name)
    as_it_is = set(known)
    found = ((name, by_spelling.get(spelling(name), [])) for name in names if name not in as_it_is)
    return {name: same[0] for name, same in found if len(same) == 1}


def similar(names: Iterable[str], known: Sequence[str]) -> dict[str, str]:
    """Names that are probably misspellings, and of which known name."""
    close = {name: get_close_matches(name, known, n=1, cutoff=_ALIKE) for name in names}
    return {name: found[0] for name, found in close.items() if found}


def _meant(counts: Mapping[str, int], meant: Mapping[str, str]) -> Facts:
    """How many rows have names that mean others, and which."""
    rows = sum(counts[name] for name in meant)
    return {"count": rows, "found": tuple(meant)[:MOST_NAMED], "meant": tuple(meant.values())[:MOST_NAMED]}


def _to_known(writing: Writing) -> dict[str, str]:
    """Cells that are one of the known names in another spelling."""
    known = writing.known
    return respelled((text for text in writing.texts if text.strip() not in known), known) if known else {}


def _to_classes(writing: Writing) -> dict[str, str]:
    stripped = {text: text.strip() for text in writing.texts if text.strip() != text}
    return stripped | _to_known(writing)


# Levels of categories: unknown to the schema, or one level written in several ways.


@dataclass(frozen=True)
class Levels:
    """The levels of a column with their rows, and those that the schema knows, if it does."""

    column: str
    counts: Counter[str]
    known: tuple[str, ...]

    @cached_property
    def meant(self) -> dict[str, str]:
        """The levels that are others in another spelling."""
        return respelled(self.counts, self.known) if self.known else written_differently(self.counts)


def _levels(coded: CodedTable, schema: Schema | None) -> Iterator[Levels]:
    known = {column.name: column.categories for column in schema.columns if column.categories} if schema else {}
    for name, column in coded.columns.items():
        if name in known or (column.values.ndim == 1 and column.values.dtype.kind == "O"):
            counts: Counter[str] = Counter()
            for text, count in zip(category_names(column.values).tolist(), column.counts.tolist(), strict=True):
                if text is not None:
                    counts[text] += count
            yield Levels(name, counts, known.get(name, ()))


LEVELS = Look(_levels)


@LEVELS.issue("checkup.level-spelling", Severity.DOUBTFUL, fix=Fix("checkup.fixed-levels", _to_known))
def _level_spelling(levels: Levels) -> Iterator[Facts]:
    if levels.meant:
        yield {"column": levels.column, **_meant(levels.counts, levels.meant)}


@LEVELS.issue("checkup.unknown-levels", Severity.NOTE)
def _unknown_levels(levels: Levels) -> Iterator[Facts]:
    ordered = [level for level, _ in levels.counts.most_common()] if levels.known else []
    unknown = tuple(level for level in ordered if level not in levels.known and level not in levels.meant)
    if unknown:
        named = unknown[:MOST_NAMED]
        guesses = tuple(similar(named, levels.known).values()) or None
        yield {"column": levels.column, "count": len(unknown), "levels": named, "meant": guesses}


# Classes of a label: small ones, and the same one in another coding.


@dataclass(frozen=True)
class Classes:
    """The classes of a table with their rows, and those of the schema, if there is one."""

    counts: Counter[str]
    known: tuple[str, ...]

    @cached_property
    def meant(self) -> dict[str, str]:
        """The class that each label in another coding stands for."""
        return other_coding(self.counts, self.known) if self.known else written_differently(self.counts)

    @cached_property
    def proper(self) -> Counter[str]:
        """The classes that are meant as they are written, and that the schema knows."""
        known = self.known or self.counts
        return Counter({n: count for n, count in self.counts.items() if n not in self.meant and n in known})


def _classes(coded: CodedTable, schema: Schema | None) -> Iterator[Classes]:
    if coded.table.has_classes:
        names = class_names(coded.labels.values).tolist()
        counts = Counter(dict(zip(names, coded.labels.counts.tolist(), strict=True)))
        yield Classes(counts, schema.label.classes if schema and schema.label.kind == "classes" else ())


CLASSES = Look(_classes)


@CLASSES.issue("checkup.label-coding", Severity.DOUBTFUL, fix=Fix("checkup.fixed-labels", _to_classes))
def _label_coding(classes: Classes) -> Iterator[Facts]:
    if classes.meant:
        yield _meant(classes.counts, classes.meant)


@CLASSES.issue("checkup.unknown-classes", Severity.DOUBTFUL)
def _unknown_classes(classes: Classes) -> Iterator[Facts]:
    counts, known = classes.counts, classes.known
    others = (name for name in counts if known and name not in classes.meant and name not in known)
    if unknown := sorted(others, key=lambda name: -counts[name]):
        named = tuple(unknown[:MOST_NAMED])
        guesses = tuple(similar(named, known).values()) or None
        rows = sum(counts[name] for name in unknown)
        yield {"count": rows, "classes": named, "known": known[:MOST_NAMED], "meant": guesses}


@CLASSES.issue("checkup.one-class", Severity.NOTE)
def _one_class(classes: Classes) -> Iterator[Facts]:
    if len(classes.proper) == 1:
        yield {"name": next(iter(classes.proper))}


@CLASSES.issue("checkup.small-classes", Severity.NOTE)
def _small_classes(classes: Classes) -> Iterator[Facts]:
    """Classes that nobody is told of."""
    small = [name for name, count in classes.proper.items() if count < MIN_GROUP]
    if small and len(classes.proper) > 1:
        yield {"count": len(small), "classes": tuple(small[:MOST_NAMED]), "least": MIN_GROUP}


@CLASSES.issue("checkup.rare-classes", Severity.NOTE)
def _rare_classes(classes: Classes) -> Iterator[Facts]:
    """Classes of which a model hardly hears."""
    counts = classes.proper
    fair = counts.total() / max(len(counts), 1)
    if rare := [name for name, count in counts.items() if MIN_GROUP <= count < _RARE * fair]:
        share = min(counts[name] for name in rare) / counts.total()
        yield {"count": len(rare), "classes": tuple(rare[:MOST_NAMED]), "share": share}


# Columns that say too little or too much: constant, hardly ever filled in, the label once more, or misnamed.


@dataclass(frozen=True)
class AnyColumn:
    """One column of a table."""

    coded: CodedTable
    name: str
    column: Coded


def _columns(coded: CodedTable, schema: Schema | None) -> Iterator[AnyColumn]:  # noqa: ARG001 - as all parts
    return (AnyColumn(coded, name, column) for name, column in coded.columns.items())


COLUMNS = Look(_columns)


@COLUMNS.issue("checkup.constant", Severity.NOTE)
def _constant(part: AnyColumn) -> Iterator[Facts]:
    if len(part.column.values) == 1 and not part.column.missing and part.column.values.ndim == 1:
        yield {"column": part.name, "value": in_words(part.column.values[0], part.coded.kind(part.name))}


@COLUMNS.issue("checkup.mostly-missing", Severity.NOTE)
def _mostly_missing(part: AnyColumn) -> Iterator[Facts]:
    rows, missing = len(part.coded.table), part.column.missing
    if _HALF * rows < missing < rows:
        yield {"column": part.name, "count": missing, "share": missing / rows}


@COLUMNS.issue("checkup.label-again", Severity.DOUBTFUL)
def _label_again(part: AnyColumn) -> Iterator[Facts]:
    """Whether each class has a value of its own, in all of many rows."""
    column, labels = part.column, part.coded.labels
    classes = len(labels.values)
    if not part.coded.table.has_classes or column.missing or not 1 < len(column.values) == classes:
        return
    pairs = len(np.unique(column.codes * classes + labels.codes))
    if pairs == classes and len(column.codes) >= _LEAST_ROWS * classes:
        yield {"column": part.name}


Whole = tuple[CodedTable, Schema | None]
NAMES: Look[Whole] = Look(lambda coded, schema: [(coded, schema)])
ROWS: Look[Whole] = Look(lambda coded, schema: [(coded, schema)])


@NAMES.issue("checkup.column-name", Severity.DOUBTFUL)
def _column_names(part: Whole) -> Iterator[Facts]:
    """Columns that are probably the schema's by another name."""
    coded, schema = part
    wanted = set(coded.columns if schema is None else (column.name for column in schema.columns))
    extra, missing = sorted(set(coded.columns) - wanted), sorted(wanted - set(coded.columns))
    meant = respelled(extra, missing)
    meant |= similar((name for name in extra if name not in meant), missing)
    return ({"column": name, "meant": guess} for name, guess in meant.items())


@ROWS.issue("checkup.empty-rows", Severity.DOUBTFUL)
def _empty_rows(part: Whole) -> Iterator[Facts]:
    empty = int(np.all([column.codes < 0 for column in part[0].columns.values()], axis=0).sum())
    if empty:
        yield {"count": empty}


# Cells that are read well, and still better written otherwise in a copy.


def _plain_numbers(writing: Writing) -> dict[str, str]:
    """Numbers as every program reads them; times of day are left as they are."""
    if not isinstance(writing.how, Number):
        return {}
    odd = [text for text in writing.texts if not _is_plain(text) and ":" not in text]
    numbers = numbers_of([text.strip() for text in odd], writing.decimal or writing.how.decimal).tolist()
    return {text: _written(number) for text, number in zip(odd, numbers, strict=True) if np.isfinite(number)}


def _is_plain(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _written(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _emptied(writing: Writing) -> dict[str, str]:
    """What stands for a missing cell in a column of that kind."""
    marks = () if writing.how is None else writing.how.marks
    return {text: "" for text in writing.texts if text.strip().lower() in marks}


LABEL_FIXES = tuple(issue.fix for issue in CLASSES.issues if issue.fix)
COLUMN_FIXES = (
    *(issue.fix for issue in LEVELS.issues if issue.fix),
    Fix("checkup.fixed-numbers", _plain_numbers),
    Fix("checkup.fixed-missing", _emptied),
)
