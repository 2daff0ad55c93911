"""The refusal side channel: whether there is an answer, and in which form, must not depend on one odd row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedbary.auditing.finding import SIDE_CHANNEL, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import Scene, written
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.space.schema import Schema

# The largest that a table holds.
_HUGE = 1e99
_NOBODY = "nobody has this label"


def refusals(scene: Scene) -> Finding:
    """Share of odd rows and questions in which the outcome tells that the row is there."""
    rng = scene.rng("refusals")
    plain = scene.table.take(scene.others(rng, scene.some))

    def outcome(table: Table, question: Message) -> object:
        with scene.defence.owner(table, rng) as owner:
            return form(owner.ask(question))

    differ = [
        outcome(plain, question) != outcome(odd, question) for question in questions(scene) for odd in odd_tables(plain)
    ]
    share = float(np.mean(differ))
    # Nothing is drawn here: each of them tells, or it does not.
    exact = Rate(share, share, share, share)
    what, limit = Note("audit.refusals", {"probes": len(differ)}), Promises.of(scene.defence).refusal
    return measured("whether there is an answer", SIDE_CHANNEL, what, exact, limit)


def form(reply: Reply | Failure) -> object:
    """Everything about an answer but its numbers: whether there is one, why not, and which fields of which size."""
    if isinstance(reply, Failure):
        return reply.status, reply.note.to_text()
    shapes = {name: np.asarray(array).shape for name, array in reply.arrays.items()}
    return sorted(reply.scalars), sorted(shapes.items()), tuple(note.to_text() for note in reply.notes)


def odd_tables(table: Table) -> Iterator[Table]:
    """The table with its first row spoilt in several ways: a huge number, a missing cell, an unheard-of label."""
    for name, column in table.columns.items():
        if column.dtype.kind == "f":
            for value in (_HUGE, np.nan):
                spoilt = column.copy()
                spoilt[0] = value
                yield table.replace(columns={**table.columns, name: spoilt})
            break
    for name, column in table.columns.items():
        if column.dtype.kind == "O":
            spoilt = column.copy()
            spoilt[0] = None
            yield table.replace(columns={**table.columns, name: spoilt})
            break
    if table.has_classes:
        labels = table.labels.astype(object)
        labels[0] = _NOBODY if labels.dtype.kind == "O" and isinstance(labels[1], str) else 10**6
        yield table.replace(labels=np.array(labels.tolist()))
    else:
        labels = table.labels.astype(float)
        labels[0] = _HUGE
        yield table.replace(labels=labels)


def questions(scene: Scene) -> Iterator[Message]:
    """An honest question, one that minds missing cells, and one whose scale makes a large number overflow."""
    honest = Schema.from_json(str(scene.honest.scalars["schema"]))
    yield scene.honest
    yield written(scene.honest, replace(honest, missing="refuse"))
    columns = tuple(replace(column, scale=tuple(1e-100 * scale for scale in column.scale)) for column in honest.columns)
    yield written(scene.honest, replace(honest, columns=columns))
