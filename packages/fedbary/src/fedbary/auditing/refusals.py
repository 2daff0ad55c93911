"""The refusal side channel: whether there is an answer, and in which form, must not depend on one odd row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedbary.auditing import sketch_questions
from fedbary.auditing.finding import SIDE_CHANNEL, Finding, measured
from fedbary.auditing.intervals import Rate
from fedbary.auditing.promises import Promises
from fedbary.auditing.scene import NOBODY, Scene, written
from fedbary.data.table import Table
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply
from fedbary.space.schema import ColumnSpec, Schema

# About the largest number that a table holds, and a scale by which it overflows; a number that nobody else has.
_HUGE, _TINY, _RARE = 1e99, 1e-80, 12345.0


def refusals(scene: Scene) -> Finding:
    """Share of odd rows and questions in which the outcome tells that the row is there."""
    rng = scene.rng("refusals")
    plain = scene.table.take(scene.others(rng, scene.some))

    def outcome(table: Table, question: Message) -> object:
        with scene.defence.owner(table, rng) as owner:
            return form(owner.ask(question))

    differ = [
        outcome(plain, question) != outcome(odd, question)
        for question in questions(scene)
        for odd in odd_tables(scene, plain)
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


def odd_tables(scene: Scene, table: Table) -> Iterator[Table]:
    """The table with another first row: one unlike all others, or its own with a cell or label that is odd."""
    others = np.arange(1, len(table))
    strange = scene.table.take([scene.target])
    yield Table(
        {name: np.concatenate([strange.columns[name], column[others]]) for name, column in table.columns.items()},
        np.concatenate([strange.labels, table.labels[others]]),
        label_name=table.label_name,
    )
    odd_cells = {"f": (_HUGE, _RARE, np.nan), "O": (None, NOBODY)}
    for kind, cells in odd_cells.items():
        name = next((name for name, column in table.columns.items() if column.dtype.kind == kind), None)
        for cell in cells if name is not None else ():
            spoilt = table.columns[str(name)].copy()
            spoilt[0] = cell
            yield table.replace(columns={**table.columns, str(name): spoilt})
    labels = table.labels.tolist()
    labels[0] = NOBODY if isinstance(labels[0], str) else 10**6 if table.has_classes else _HUGE
    yield table.replace(labels=np.array(labels))


def questions(scene: Scene) -> Iterator[Message]:
    """Honest questions, and ones that odd rows may upset: by a missing cell, a number that overflows, a category."""
    yield scene.honest
    if "task" in scene.honest.scalars:
        for task in ("classification", "regression"):
            yield replace(scene.honest, scalars={**scene.honest.scalars, "task": task})
    if "schema" not in scene.honest.scalars:
        return
    honest = Schema.from_json(str(scene.honest.scalars["schema"]))
    yield written(scene.honest, replace(honest, missing="refuse"))
    tiny = tuple(replace(one, scale=tuple(_TINY * scale for scale in one.scale)) for one in honest.columns)
    yield written(scene.honest, replace(honest, columns=tiny))
    # The text of a number: a column of numbers in which it occurs can be read as categories, another one cannot.
    rare = tuple(
        ColumnSpec(one.name, "categorical", categories=(f"{_RARE:g}",)) if one.kind == "numeric" else one
        for one in scene.schema.columns
    )
    schema = replace(scene.schema, columns=rare, projection=None)
    if scene.defence.asked.name == "sketch":
        yield sketch_questions.sketch(scene, schema, np.zeros(schema.point_width), np.ones(1), cap=1.0)
        yield sketch_questions.loud(scene, scene.points[scene.target])
    else:
        yield written(scene.honest, schema)
