"""What a party may say about how its table fits the schema, without naming small groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import log10
from typing import TypeVar

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.columns import Bools, Integers, cell_numbers, limits
from fedbary.space.labels import named_classes, other_coding
from fedbary.space.points import Points, StoredPoints, embed
from fedbary.space.schema import Schema
from fedbary.space.walk import Batch, walk
from fedbary.wording import on_one_line

Key = TypeVar("Key")

# Codes of what is wrong with rows; an owner may withhold them. Unknown classes give another coding away.
FINDINGS = frozenset(
    {
        "schema.column-beyond",
        "schema.column-lacks",
        "schema.many-copies",
        "schema.other-coding",
        "schema.unknown-classes",
    }
)
# All that a client may put into its reply.
FIT_CODES = FINDINGS | {"schema.ignores-columns", "schema.lacks-classes", "schema.lacks-every-class"}
# Columns of which a client says that they lie beyond the reference, and of which it says that they lack cells.
MOST_COLUMNS = 5
# Names in a note; there may be thousands of classes.
_MOST_NAMED = 20
# A column is odd from this share of its rows on, as a client is; so many of a heavy tail lie beyond no reference.
_LEAST_BEYOND = 0.05
# From this share of its cells on it is worth a word that a column lacks them.
_LEAST_LACKING = 0.05
# Letters of a name in a note, and the largest number.
_LONGEST_NAME, _LARGEST = 1000, 1e300
# Copies are worth a word where fewer rows than this share are different.
_FEW_DIFFERENT = 0.9


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Cells that lack a value (``missing`` by row, ``lacking`` by column), and rows beyond the limits of a column."""

    missing: Integers
    lacking: Mapping[str, int]
    beyond: Mapping[str, Integers]

    def share(self, schema: Schema) -> float:
        """Share of the schema's cells that have no value, over all rows."""
        return float(self.missing.mean()) / schema.cells


class CellFold:
    """Counts the cells of a table."""

    def __init__(self, schema: Schema) -> None:
        self._missing: list[Integers] = []
        self._lacking = {column.name: 0 for column in schema.columns}
        self._limited = [column for column in schema.columns if column.low and not column.bounded]
        self._beyond = {column.name: np.zeros(column.width, dtype=np.int64) for column in self._limited}

    def add(self, batch: Batch) -> None:
        self._missing.append(batch.missing.sum(axis=1))
        for name, count in zip(self._lacking, batch.missing.sum(axis=0).tolist(), strict=True):
            self._lacking[name] += count
        for column in self._limited:
            self._beyond[column.name] += column.beyond(batch.table.columns[column.name]).sum(axis=0)

    def merge(self, other: CellFold) -> None:
        self._missing += other._missing
        for name in self._lacking:
            self._lacking[name] += other._lacking[name]
        for name in self._beyond:
            self._beyond[name] += other._beyond[name]

    def done(self) -> CellCounts:
        return CellCounts(np.concatenate(self._missing), self._lacking, self._beyond)


def count_cells(table: Table, schema: Schema) -> CellCounts:
    """Count the cells of a table."""
    fold = CellFold(schema)
    walk(table, schema, fold, encoded=False)
    return fold.done()


def fit_notes(
    table: Table,
    schema: Schema,
    cloud: Points | StoredPoints | None = None,
    *,
    cells: CellCounts | None = None,
    min_group: int = 1,
) -> tuple[Note, ...]:
    """Ordinary but noteworthy facts, and findings: of columns, of labels, of copies.

    These notes leave the owner's machine, so a class is told apart from an absent one only from ``min_group`` different
    rows on, be it the target's or unknown to it, and so many must lie beyond the limits of a column or lack its cells
    (all do, where fewer do not); shares have two digits, that of different rows in steps of so many, and how a median
    differs is a power of ten. ``cloud`` and ``cells`` are the table's embedding, which knows which rows are equal, and
    its counted cells, if they are at hand.
    """
    cloud = cloud or embed(table, schema)
    notes = []
    known = {*(column.name for column in schema.columns), *(note.facts.get("column") for note in schema.notes)}
    extra = sum(name not in known for name in table.columns)
    if extra:
        notes.append(Note("schema.ignores-columns", {"count": extra}))
    if schema.label.kind == "classes" and schema.label.classes:
        notes += _class_notes(_label_counts(table, cloud, min_group), schema.label.classes, min_group)
    cells = cells or count_cells(table, schema)
    notes += _column_notes(table, schema, cloud, cells, min_group)
    notes += lacking_notes(told_missing(table, schema, cells, cloud.point_of_row, least=min_group))
    if cloud.distinct < _FEW_DIFFERENT * cloud.rows:
        # One row more or less must not show, whatever a server takes for equal.
        different = cloud.distinct - cloud.distinct % max(min_group, 1)
        notes.append(Note("schema.many-copies", {"share": round(different / cloud.rows, 2)}))
    return tuple(notes)


def lacking_notes(shares: Mapping[str, float]) -> list[Note]:
    """Columns that lack many cells, the worst first, by the share that each lacks."""
    many = sorted((name for name in shares if shares[name] >= _LEAST_LACKING), key=lambda name: -shares[name])
    return [
        Note("schema.column-lacks", {"column": on_one_line(name), "share": round(shares[name], 2)})
        for name in many[:MOST_COLUMNS]
    ]


def is_plausible(note: Note) -> bool:
    """Whether a note that another party sent has a code and facts that `fit_notes` could have made."""
    return note.code in FIT_CODES and all(_is_fact(name, fact) for name, fact in note.facts.items())


def _is_fact(name: str, fact: object) -> bool:
    if name in ("classes", "found", "meant"):
        return (
            isinstance(fact, tuple | list) and len(fact) <= _MOST_NAMED and all(_is_fact("column", one) for one in fact)
        )
    if name == "column":
        return isinstance(fact, str) and len(fact) <= _LONGEST_NAME
    if fact is None:
        return name in ("least", "times")
    if isinstance(fact, bool) or not isinstance(fact, int | float):
        return False
    return 0 <= fact <= (1.0 if name == "share" else _LARGEST)


def require_known_labels(table: Table, schema: Schema, cloud: Points | StoredPoints, *, min_group: int) -> None:
    """Refuse a table that has hardly a label of the schema: compared with it, all of its rows would be wrong.

    A single row with a known label must not decide, so there must be ``min_group`` different ones.
    """
    classes = schema.label.classes
    if schema.label.kind != "classes" or not classes:
        return
    counts = _label_counts(table, cloud, min_group)
    if sum(counts[name] for name in classes) >= min_group:
        return
    found = sorted(name for name, count in counts.items() if count >= min_group)[:_MOST_NAMED]
    meant = other_coding(found, classes)
    raise DataError(
        "schema.no-known-label",
        where=table.origin,
        label=schema.label.name,
        found=tuple(found) or None,
        classes=classes[:_MOST_NAMED],
        meant=tuple(f"{name} for {label}" for label, name in meant.items()) or None,
    )


def _label_counts(table: Table, cloud: Points | StoredPoints, min_group: int) -> Counter[str]:
    """How many rows each class has; different ones, where groups must not be small."""
    labels = table.labels
    if min_group > 1:
        labels = labels[np.unique(cloud.point_of_row, return_index=True)[1]]
    codes, names = named_classes(labels)
    return Counter(dict(zip(names.tolist(), np.bincount(codes, minlength=len(names)).tolist(), strict=True)))


def _class_notes(counts: Counter[str], classes: tuple[str, ...], min_group: int) -> list[Note]:
    notes = []
    least = None if min_group <= 1 else min_group
    lacking = [name for name in classes if counts[name] < min_group]
    if len(lacking) == len(classes):
        notes.append(Note("schema.lacks-every-class", {"least": least}))
    elif lacking:
        facts = {"least": least, "count": len(lacking), "classes": tuple(lacking[:_MOST_NAMED])}
        notes.append(Note("schema.lacks-classes", facts))
    unknown = sorted(name for name in counts if name not in classes and counts[name] >= min_group)
    if unknown:
        facts = {"count": len(unknown), "classes": tuple(unknown[:_MOST_NAMED])}
        notes.append(Note("schema.unknown-classes", facts))
    meant = other_coding(unknown[:_MOST_NAMED], classes)
    if meant:
        notes.append(Note("schema.other-coding", {"found": tuple(meant), "meant": tuple(meant.values())}))
    return notes


def _column_notes(
    table: Table, schema: Schema, cloud: Points | StoredPoints, cells: CellCounts, min_group: int
) -> list[Note]:
    """Columns in which many rows lie beyond the limits, the worst first."""
    named = {column.name: column for column in schema.columns}
    shares = {
        (name, place): count / len(table)
        for name, counts in cells.beyond.items()
        for place, count in enumerate(counts.tolist())
        if count / len(table) >= _LEAST_BEYOND
    }

    def masks(rows: Table) -> Iterator[tuple[tuple[str, int, bool], Bools]]:
        for name in dict.fromkeys(name for name, _ in shares):
            beyond = named[name].beyond(rows.columns[name])
            for place in (place for one, place in shares if one == name):
                yield (name, place, True), beyond[:, place]
                yield (name, place, False), ~beyond[:, place]

    enough = enough_different(table, cloud.point_of_row, masks, least=min_group) if shares else {}
    found = [(share if enough[*key, False] else 1.0, *key) for key, share in shares.items() if enough[*key, True]]
    notes = []
    for share, name, place in sorted(found, key=lambda one: -one[0])[:MOST_COLUMNS]:
        column = named[name]
        numbers = [cell_numbers(rows.columns[name]).reshape(len(rows), -1)[:, place, None] for rows in table.batches()]
        own = float(limits(np.concatenate(numbers), min_group).middle[0])  # a median is one row's number
        title = on_one_line(name) + (f"[{place}]" if column.kind == "block" else "")
        times = _power_of_ten(own, column.middle[place])
        notes.append(Note("schema.column-beyond", {"column": title, "share": round(share, 2), "times": times}))
    return notes


def _power_of_ten(own: float, reference: float) -> float | None:
    """How many times the reference's the own median is, where it is ten times as large or small at least."""
    if not own * reference > 0.0:
        return None
    times = own / reference
    if 0.1 < times < 10.0 or not 1e-300 < times < 1e300:
        return None
    power = round(log10(times))
    return float(f"1e{power}") if power < 0 else 10**power


def told_missing(table: Table, schema: Schema, counts: CellCounts, copies: Integers, *, least: int) -> dict[str, float]:
    """The share of cells without a value in each column, where no fewer than ``least`` different rows say it.

    Where fewer lack a value none does, and where fewer have one all do. Rows that are copies of each other have the
    same number in ``copies``.
    """
    some = [column for column in schema.columns if counts.lacking[column.name]]

    def masks(rows: Table) -> Iterator[tuple[tuple[str, bool], Bools]]:
        for column in some:
            missing = column.missing(rows.columns[column.name])
            yield (column.name, True), missing < column.width
            yield (column.name, False), missing > 0

    enough = enough_different(table, copies, masks, least=least) if some else {}
    # Where nothing is missing, all rows have a value.
    all_have = int(np.count_nonzero(np.bincount(copies))) >= least
    told = {}
    for column in schema.columns:
        share = counts.lacking[column.name] / (column.width * len(table))
        if not enough.get((column.name, True), all_have):
            share = 1.0
        elif not enough.get((column.name, False), False):
            share = 0.0
        told[column.name] = share
    return told


def enough_different(
    table: Table, copies: Integers, masks: Callable[[Table], Iterator[tuple[Key, Bools]]], *, least: int
) -> dict[Key, bool]:
    """Whether each of some conditions holds for ``least`` different rows; rows are read as far as that is unknown."""
    seen: dict[Key, set[int]] = {}
    start = 0
    for rows in table.batches():
        here = copies[start : start + len(rows)]
        for key, mask in masks(rows):
            known = seen.setdefault(key, set())
            if len(known) < least:
                known.update(np.unique(here[mask])[:least].tolist())
        start += len(rows)
        if all(len(known) >= least for known in seen.values()):
            break
    return {key: len(known) >= least for key, known in seen.items()}
