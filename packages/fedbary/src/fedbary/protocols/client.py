"""`Client`: what the owners' halves of all protocols do alike; and a table at the hands of a judge, row by row."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, PrivacyError, ProtocolError
from fedbary.forms import array_text, below, text_array, under
from fedbary.judging.evidence import Groups
from fedbary.judging.federation import Judgement, judgements
from fedbary.judging.judge import Judge, Judged
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.model import JudgingModel
from fedbary.notes import Note
from fedbary.protocols.halves import Private
from fedbary.protocols.messages import Message, Reply, Settings, State
from fedbary.protocols.released_table import OneRelease, Release
from fedbary.space.columns import category_places
from fedbary.space.encode import missing_coordinates, place
from fedbary.space.labels import class_positions
from fedbary.space.row_identity import one_row_each
from fedbary.space.schema import Schema
from fedbary.space.walk import Batch, walk
from fedbary.valuation.rows import RowRules, ScoredRows, valued_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of more classes nobody looks at what each label's rows look like.
_MOST_CLASSES = 100


class FirstMessage:
    """The first-message rule: the first message of a kind is answered, and no other of that kind.

    A server that may ask the same rows in many ways can combine the answers; so the first message of a kind binds it.
    Asked twice the same way, a client repeats itself.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def check(self, message: Message) -> None:
        """Refuse a message whose kind was answered before with another content."""
        digest = message.digest
        if self._digests.setdefault(message.kind, digest) != digest:
            raise PrivacyError("protocols.asked-otherwise", kind=message.kind)

    def to_text(self) -> str:
        """For a state."""
        return json.dumps(self._digests)

    def from_text(self, text: str) -> None:
        """Restore what `to_text` wrote."""
        self._digests = dict(json.loads(text))


class Client:
    """Holds the rows, and the owner's own settings of what may leave, which a server cannot loosen.

    ``trusted`` says whether exact answers are of all rows as they are.
    """

    def __init__(
        self, settings: Settings, table: Table, *, rules: RowRules, release: Release | None, trusted: bool
    ) -> None:
        self._table, self._rules, self._least = table, rules, settings.min_group
        self._released = OneRelease(table, release, min_group=settings.min_group, trusted=trusted)
        # ε is of one row of each person.
        self._private = isinstance(settings.trust, Private)
        self._asked = one_row_each(table) if self._private else table
        self._first = FirstMessage()
        # What came with the messages, and what was answered to each kind of them.
        self._schema: Schema | None = None
        self._received: dict[str, np.ndarray] = {}
        self._left: dict[str, Reply] = {}
        self._scored: ScoredRows | None = None

    def require_rows(self) -> None:
        """Refuse to answer for a table that is too small to be asked, by its public number of rows."""
        if len(self._asked) < self._least:
            raise DataError("schema.too-few-rows", rows=len(self._asked), least=self._least)

    def state(self) -> State:
        """What came from the server and what went to it; the rows stay where they are."""
        left, state = {}, {"first": text_array(self._first.to_text())}
        for kind, reply in self._left.items():
            left[kind] = {"scalars": reply.scalars, "notes": [note.to_json() for note in reply.notes]}
            state |= under(f"reply.{kind}.", reply.arrays)
        state["left"] = text_array(json.dumps(left))
        if self._schema is not None:
            state |= {"schema": text_array(self._schema.to_json()), **under("array.", self._received)}
        return state

    def restore(self, state: State) -> None:
        if not state:
            return
        self._first.from_text(array_text(state["first"]))
        for kind, one in json.loads(array_text(state["left"])).items():
            notes = tuple(Note.from_json(note) for note in one["notes"])
            self._left[kind] = Reply(0, one["scalars"], below(state, f"reply.{kind}."), notes)
        if "schema" in state:
            self._schema, self._received = Schema.from_json(array_text(state["schema"])), below(state, "array.")


def sent_schema(message: Message) -> Schema | None:
    """The schema in a message, if it has one."""
    if "schema" not in message.scalars:
        return None
    schema = Schema.from_json(str(message.scalars["schema"]))
    schema.require(str(message.scalars.get("fingerprint")))
    return schema


def judge_of(
    table: Table, schema: Schema, model: JudgingModel, *, projected: bool, groups: Groups | None = None
) -> Judge:
    """A judge that has seen all rows; ``projected`` says whether the model looks at the schema's projection."""
    fold = JudgeFold(Judge(model, len(table), groups), schema, projected=projected)
    walk(table, schema, fold)
    return fold.done()


class JudgeFold:
    """Lets a judge see the rows of a walk."""

    def __init__(self, judge: Judge, schema: Schema, *, projected: bool) -> None:
        self._judge, self._schema, self._projected = judge, schema, projected

    def add(self, batch: Batch) -> None:
        schema, labels = self._schema, batch.table.labels
        values = place(batch.encoded, schema) if self._projected else batch.encoded
        missing, holes = batch.missing.sum(axis=1), None
        # Where columns are mixed, no coordinate is that of a missing cell.
        if missing.any() and not (self._projected and schema.projection is not None):
            holes = missing_coordinates(batch.table, schema)
        if self._judge.model.numeric:
            self._judge.add(values, schema.label.standardised(labels), missing / schema.cells, holes)
        else:
            codes = category_places(labels, self._judge.model.classes)
            self._judge.add(values, codes, missing / schema.cells, holes)

    def merge(self, other: JudgeFold) -> None:
        self._judge.merge(other._judge)

    def done(self) -> Judge:
        return self._judge


def judged_alone(
    judge: Judge, weights: Floats | None, judgement: Judgement | None, *, rate: float
) -> tuple[Judged, Judgement]:
    """The rows by weights that came, and the judgement on them; where none came, what can be said at home.

    With the evidence of a reference's rows that is a judgement like any other, without it all that is wrong or hard.
    """
    model = judge.model
    if weights is None:
        weights = judge.own_weights() if model.weights is None else model.weights
    if np.shape(weights) != (model.candidates + model.numeric,):
        raise ProtocolError("protocols.message-unfit", kind="evidence", name="weights")
    judged = judge.judged(weights)
    if judgement is None:
        judgement = judgements({"own": judge.evidence(judged)}, model.held_out, rate=rate)["own"]
    return judged, judgement


def label_evidence_of(table: Table, schema: Schema, judge: Judge, groups: Groups | None) -> LabelEvidence | None:
    """What the rows of each of the schema's classes look like; None for numbers, and for very many classes.

    None, too, where a server's numbers leave the finite ones: a failure would tell of a row.
    """
    classes = schema.label.classes
    if judge.model.numeric or len(classes) > _MOST_CLASSES:
        return None
    places = class_positions(judge.model.classes, classes)
    codes = category_places(table.labels, classes)
    try:
        with np.errstate(all="ignore"):
            found = judge.label_evidence(codes, places, len(classes), groups)
    except (np.linalg.LinAlgError, ValueError, OverflowError):
        return None
    told = found.to_arrays().values()
    return found if all(np.isfinite(numbers).all() for numbers in told) else None


def row_columns(
    table: Table,
    schema: Schema,
    judge: Judge,
    judged: Judged,
    judgement: Judgement,
    *,
    rules: RowRules,
    gradient: Floats | None = None,
) -> ScoredRows:
    """Values of the table's rows."""
    columns = schema.columns
    edges = np.array([own.start for own in schema.slices.values()])
    names = [column.name for column in columns]
    named = schema.encoded_width == judge.model.features and not all(column.kind == "block" for column in columns)
    if judged.suggested is not None:
        spec = schema.label
        judged = Judged(judged.labels, judged.features, judged.suggested * spec.scale + spec.mean)
    found = valued_rows(
        table.row_names,
        judged,
        judgement,
        judge.model.classes,
        rules=rules,
        columns=(lambda chosen: judge.odd_columns(chosen, names, edges)) if named else None,
        gradient=gradient,
    )
    return replace(found, facts=replace(found.facts, moving=moving(judge, schema) if named else {}))


def moving(judge: Judge, schema: Schema) -> dict[str, tuple[float, float]]:
    """For each column of numbers (offset, factor) that take its values to where the others lie, in its own units.

    A coordinate e = (x − mean)/scale of the schema becomes e/t + c·(1 − 1/t) + s·(expected − own/t) with c and s the
    discriminant's centre and scale: x' = x/t + …, all of which is one offset.
    """
    moved, others, found = judge.moved, judge.model.others, {}
    for column in schema.columns:
        if column.kind == "numeric":
            place = schema.slices[column.name].start
            times, centre, scale = float(moved.times[place]), float(others.centre[place]), float(others.scale[place])
            mean, unit = float(column.mean[0]), float(column.scale[0])
            away = centre * (1.0 - 1.0 / times) + scale * float(moved.expected[place] - moved.own[place] / times)
            found[column.name] = (mean * (1.0 - 1.0 / times) + unit * away, 1.0 / times)
    return found
