"""What is odd about the classes of a label: small ones, and the same one in another coding."""

from __future__ import annotations

from collections import Counter

from fedbary.checkup.coded import CodedTable
from fedbary.checkup.finding import Finding, Severity
from fedbary.checkup.refusals import MIN_GROUP
from fedbary.checkup.spelling import similar, written_differently
from fedbary.notes import Note
from fedbary.space.labels import class_names, other_coding
from fedbary.space.schema import Schema

_MOST_NAMED = 20
# A class is rare below this share of what it would have if all were as large.
_RARE = 0.1


def odd_classes(coded: CodedTable, schema: Schema | None) -> list[Finding]:
    """Classes in another coding than the schema's or than others, and those with too few rows.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> table = Table({"age": range(12)}, ["good", "bad"] * 5 + ["Good", "bad"])
    >>> print(*odd_classes(CodedTable.of(table), None), sep="; ")
    1 row has the label Good (did you mean good?): write a class in one way
    """
    if not coded.table.has_classes:
        return []
    names = class_names(coded.labels.values).tolist()
    counts = Counter(dict(zip(names, coded.labels.counts.tolist(), strict=True)))
    classes = schema.label.classes if schema and schema.label.kind == "classes" else ()
    meant = _meant(counts, classes)
    found = []
    if meant:
        rows = sum(counts[name] for name in meant)
        labels, usual = tuple(meant)[:_MOST_NAMED], tuple(meant.values())[:_MOST_NAMED]
        note = Note("checkup.label-coding", {"count": rows, "found": labels, "meant": usual})
        found.append(Finding(note, Severity.DOUBTFUL))
    if classes:
        found += _unknown({name: count for name, count in counts.items() if name not in meant}, classes)
    known = {name: count for name, count in counts.items() if name not in meant and name in (classes or counts)}
    return found + _sizes(Counter(known))


def _meant(counts: Counter[str], classes: tuple[str, ...]) -> dict[str, str]:
    """The class that each label in another coding stands for."""
    if classes:
        return other_coding(counts, classes)
    return {rare: usual for usual, *others in written_differently(counts) for rare in others}


def _unknown(counts: dict[str, int], classes: tuple[str, ...]) -> list[Finding]:
    unknown = sorted((name for name in counts if name not in classes), key=lambda name: -counts[name])
    if not unknown:
        return []
    named = tuple(unknown[:_MOST_NAMED])
    guesses = tuple(guess for name in named if (guess := similar(name, classes)))
    rows = sum(counts[name] for name in unknown)
    note = Note(
        "checkup.unknown-classes",
        {"count": rows, "classes": named, "known": classes[:_MOST_NAMED], "meant": guesses or None},
    )
    return [Finding(note, Severity.DOUBTFUL)]


def _sizes(counts: Counter[str]) -> list[Finding]:
    """Classes that nobody is told of, and those of which a model hardly hears."""
    small = [name for name, count in counts.items() if count < MIN_GROUP]
    fair = counts.total() / max(len(counts), 1)
    rare = [name for name, count in counts.items() if MIN_GROUP <= count < _RARE * fair]
    found = []
    if len(counts) == 1:
        found.append(Note("checkup.one-class", {"name": next(iter(counts))}))
    elif small:
        named = tuple(small[:_MOST_NAMED])
        found.append(Note("checkup.small-classes", {"count": len(small), "classes": named, "least": MIN_GROUP}))
    if rare:
        share = min(counts[name] for name in rare) / counts.total()
        named = tuple(rare[:_MOST_NAMED])
        found.append(Note("checkup.rare-classes", {"count": len(rare), "classes": named, "share": share}))
    return [Finding(note, Severity.NOTE) for note in found]
