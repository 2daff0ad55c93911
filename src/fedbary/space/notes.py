"""What a party may say about how its table fits the schema, without naming small groups."""

from __future__ import annotations

from collections import Counter

import numpy as np

from fedbary.data.table import Table
from fedbary.space.labels import class_names
from fedbary.space.names import short
from fedbary.space.points import Points, embed
from fedbary.space.schema import Schema

EVERY_CLASS = "every class of the target"


def fit_notes(table: Table, schema: Schema, cloud: Points | None = None, *, min_group: int = 1) -> tuple[str, ...]:
    """Ordinary but noteworthy facts: ignored columns, classes the table lacks, classes the target lacks.

    These notes leave the owner's machine, so a class is told apart from an absent one only from
    ``min_group`` different rows on, and an unknown class is named only from so many on. ``cloud`` is the table's
    embedding, if it is at hand; it knows which rows are equal.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.space.notes import fit_notes
    >>> reference = fb.Table.from_arrays([[0.0], [1.0]], ["a", "b"])
    >>> client = fb.Table.from_arrays([[0.0], [1.0]], ["a", "a"])
    >>> fit_notes(client, fb.fit_schema(reference))
    ('lacks class b',)
    """
    notes = []
    known = {column.name for column in schema.columns}
    extra = [name for name in table.columns if name not in known]
    if extra:
        notes.append(f"ignores {len(extra)} {'column' if len(extra) == 1 else 'columns'}")
    if schema.label.kind == "classes" and schema.label.classes:
        labels = table.labels
        if min_group > 1:
            unlike = (cloud or embed(table, schema)).point_of_row
            labels = labels[np.unique(unlike, return_index=True)[1]]
        counts = Counter(class_names(labels).tolist())
        lacking = [name for name in schema.label.classes if counts[name] < min_group]
        if lacking:
            fewer = "lacks" if min_group <= 1 else f"has fewer than {min_group} rows of"
            every = len(lacking) == len(schema.label.classes)
            notes.append(f"{fewer} {EVERY_CLASS if every else f'{_classes(len(lacking))} {_some(lacking)}'}")
        unknown = [name for name in counts if name not in schema.label.classes]
        if unknown:
            named = sorted(name for name in unknown if counts[name] >= min_group)
            rest = len(unknown) - len(named)
            listed = _some(named) if named else ""
            if rest:
                listed += f"{' and ' if listed else ''}{rest} with fewer than {min_group} rows"
            notes.append(f"has {_classes(len(unknown))} unknown to the target: {listed}")
    return tuple(notes)


def _classes(count: int) -> str:
    return "class" if count == 1 else "classes"


def _some(names: list[str], most: int = 4) -> str:
    return ", ".join(map(short, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
