"""What is odd about the levels of categories: unknown to the schema, or one level written in several ways."""

from __future__ import annotations

from collections import Counter

from fedbary.checkup.coded import Coded, CodedTable
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.spelling import respelled, similar, written_differently
from fedbary.columns.category import category_names
from fedbary.notes import Note
from fedbary.space.schema import Schema

_MOST_NAMED = 20


def odd_levels(coded: CodedTable, schema: Schema | None) -> list[Finding]:
    """Levels in another spelling than others, or than the schema's, and levels that it does not know.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> table = Table({"sex": ["male", "Male", "female", "male"]}, ["a", "b", "a", "b"])
    >>> print(*odd_levels(CodedTable.of(table), None))
    column 'sex' has Male in 1 row (did you mean male?): write a level in one way
    """
    known = {column.name: column.categories for column in schema.columns if column.categories} if schema else {}
    found: list[Finding] = []
    for name, column in coded.columns.items():
        if name in known:
            found += _against(name, _levels(column), known[name])
        elif column.values.ndim == 1 and column.values.dtype.kind == "O":
            found += _among_themselves(name, _levels(column))
    return found


def _levels(column: Coded) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text, count in zip(category_names(column.values).tolist(), column.counts.tolist(), strict=True):
        if text is not None:
            counts[text] += count
    return counts


def _among_themselves(name: str, levels: Counter[str]) -> list[Finding]:
    meant = {rare: usual for usual, *others in written_differently(levels) for rare in others}
    return _other_spelling(name, levels, meant)


def _against(name: str, levels: Counter[str], known: tuple[str, ...]) -> list[Finding]:
    meant = respelled(levels, known)
    found = _other_spelling(name, levels, meant)
    unknown = tuple(level for level, _ in levels.most_common() if level not in known and level not in meant)
    if unknown:
        named = unknown[:_MOST_NAMED]
        guesses = tuple(guess for level in named if (guess := similar(level, known))) or None
        note = Note(
            "checkup.unknown-levels", {"column": name, "count": len(unknown), "levels": named, "meant": guesses}
        )
        found.append(Finding(note, Severity.NOTE))
    return found


def _other_spelling(name: str, levels: Counter[str], meant: dict[str, str]) -> list[Finding]:
    if not meant:
        return []
    rows = sum(levels[level] for level in meant)
    found, usual = tuple(meant)[:_MOST_NAMED], tuple(meant.values())[:_MOST_NAMED]
    note = Note("checkup.level-spelling", {"column": name, "count": rows, "found": found, "meant": usual})
    return [Finding(note, Severity.DOUBTFUL)]
