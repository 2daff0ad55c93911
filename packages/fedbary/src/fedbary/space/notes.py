"""What a party may say about how its table fits the schema, without naming small groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from math import log10

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError
from fedbary.notes import Note
from fedbary.space.cell_counts import CellCounts, beyond, count_cells, enough_different, told_missing
from fedbary.space.label_coding import other_coding
from fedbary.space.labels import named_classes
from fedbary.space.limits import limits
from fedbary.space.points import Points, embed
from fedbary.space.schema import ColumnSpec, Schema
from fedbary.space.stored_points import StoredPoints
from fedbary.wording import on_one_line

# Codes that a client may put into its reply.
FIT_CODES = frozenset(
    {
        "schema.column-beyond",
        "schema.column-lacks",
        "schema.ignores-columns",
        "schema.lacks-classes",
        "schema.lacks-every-class",
        "schema.many-copies",
        "schema.other-coding",
        "schema.unknown-classes",
    }
)
# Those that say what is wrong with rows; an owner may withhold them. Unknown classes give another coding away.
FINDINGS = frozenset(
    {
        "schema.column-beyond",
        "schema.column-lacks",
        "schema.many-copies",
        "schema.other-coding",
        "schema.unknown-classes",
    }
)
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
    """Columns that lack many cells, the worst first, by the share that each lacks.

    Examples
    --------
    >>> [str(note) for note in lacking_notes({"age": 0.31, "city": 0.01})]
    ["31 % of its cells are missing in column 'age'"]
    """
    many = sorted((name for name in shares if shares[name] >= _LEAST_LACKING), key=lambda name: -shares[name])
    return [
        Note("schema.column-lacks", {"column": on_one_line(name), "share": round(shares[name], 2)})
        for name in many[:MOST_COLUMNS]
    ]


def is_plausible(note: Note) -> bool:
    """Whether a note that another party sent has a code and facts that `fit_notes` could have made.

    Examples
    --------
    >>> is_plausible(Note("schema.many-copies", {"share": 0.5})), is_plausible(Note("schema.many-copies", {"share": 7}))
    (True, False)
    """
    return note.code in FIT_CODES and all(_is_fact(name, fact) for name, fact in note.facts.items())


def _is_fact(name: str, fact: object) -> bool:
    if name in ("classes", "found", "meant"):
        return isinstance(fact, tuple | list) and len(fact) <= _MOST_NAMED and all(_is_name(one) for one in fact)
    if name == "column":
        return _is_name(fact)
    if fact is None:
        return name in ("least", "times")
    if isinstance(fact, bool) or not isinstance(fact, int | float):
        return False
    return 0 <= fact <= (1.0 if name == "share" else _LARGEST)


def _is_name(fact: object) -> bool:
    return isinstance(fact, str) and len(fact) <= _LONGEST_NAME


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
    found = _told(counts, min_group)
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


def _told(counts: Counter[str], min_group: int) -> list[str]:
    """Names of classes that enough rows have."""
    return sorted(name for name, count in counts.items() if count >= min_group)[:_MOST_NAMED]


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
    outside, inside = (
        enough_different(
            table,
            cloud.point_of_row,
            {(name, place): partial(_lie_beyond, named[name], place, is_beyond) for name, place in shares},
            least=min_group,
        )
        for is_beyond in (True, False)
    )
    found = [(shares[key] if inside[key] else 1.0, named[key[0]], key[1]) for key in shares if outside[key]]
    worst = sorted(found, key=lambda one: -one[0])[:MOST_COLUMNS]
    return [_beyond(share, column, place, _numbers(table, column, place), min_group) for share, column, place in worst]


def _lie_beyond(column: ColumnSpec, place: int, wanted: bool, rows: Table) -> NDArray[np.bool_]:
    return np.asarray(beyond(rows, column)[:, place] == wanted)


def _numbers(table: Table, column: ColumnSpec, place: int) -> NDArray[np.float64]:
    """One coordinate of a column, of all rows."""
    return np.concatenate(
        [
            np.asarray(rows.columns[column.name], dtype=np.float64).reshape(len(rows), -1)[:, place]
            for rows in table.batches()
        ]
    )


def _beyond(share: float, column: ColumnSpec, place: int, numbers: NDArray[np.float64], min_group: int) -> Note:
    name = on_one_line(column.name) + (f"[{place}]" if column.kind == "block" else "")
    middle = float(limits(numbers[:, None], min_group=min_group).middle[0])  # a median is one row's number
    times = _power_of_ten(middle, column.middle[place])
    return Note("schema.column-beyond", {"column": name, "share": round(share, 2), "times": times})


def _power_of_ten(own: float, reference: float) -> float | None:
    """How many times the reference's the own median is, where it is ten times as large or small at least."""
    if not own * reference > 0.0:
        return None
    times = own / reference
    if 0.1 < times < 10.0 or not 1e-300 < times < 1e300:
        return None
    power = round(log10(times))
    return float(f"1e{power}") if power < 0 else 10**power
