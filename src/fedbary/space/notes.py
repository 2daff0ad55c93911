"""What a party may say about how its table fits the schema, without naming small groups."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.space.labels import class_names
from fedbary.space.points import Points, embed
from fedbary.space.schema import Schema

# Codes that a client may put into its reply.
FIT_CODES = frozenset(
    {"schema.ignores-columns", "schema.lacks-classes", "schema.lacks-every-class", "schema.unknown-classes"}
)
# Those that say what is wrong with rows; an owner may withhold them.
FINDINGS = frozenset({"schema.column-beyond", "schema.many-copies", "schema.other-coding"})
# Names in a note; there may be thousands of classes.
_MOST_NAMED = 20


def fit_notes(table: Table, schema: Schema, cloud: Points | None = None, *, min_group: int = 1) -> tuple[Note, ...]:
    """Ordinary but noteworthy facts: ignored columns, classes the table lacks, classes the target lacks.

    These notes leave the owner's machine, so a class is told apart from an absent one only from
    ``min_group`` different rows on, be it the target's or unknown to it. ``cloud`` is the table's embedding, if it is
    at hand; it knows which rows are equal.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.space.notes import fit_notes
    >>> reference = fb.Table.from_arrays([[0.0], [1.0]], ["a", "b"])
    >>> client = fb.Table.from_arrays([[0.0], [1.0]], ["a", "a"])
    >>> [str(note) for note in fit_notes(client, fb.fit_schema(reference))]
    ['lacks class b']
    """
    notes = []
    known = {column.name for column in schema.columns}
    extra = sum(name not in known for name in table.columns)
    if extra:
        notes.append(Note("schema.ignores-columns", {"count": extra}))
    if schema.label.kind == "classes" and schema.label.classes:
        labels = table.labels
        if min_group > 1:
            unlike = (cloud or embed(table, schema)).point_of_row
            labels = labels[np.unique(unlike, return_index=True)[1]]
        notes += _class_notes(Counter(class_names(labels).tolist()), schema.label.classes, min_group)
    return tuple(notes)


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
    return notes
