"""A client's table at the hands of a judge: rows go in a part at a time, and come out with values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import ProtocolError
from fedbary.judging.evidence import Groups
from fedbary.judging.federation import Judgement, judgements
from fedbary.judging.judge import Judge, Judged
from fedbary.judging.label_evidence import LabelEvidence
from fedbary.judging.model import JudgingModel
from fedbary.space.columns import category_places
from fedbary.space.encode import missing_coordinates, place
from fedbary.space.labels import class_positions
from fedbary.space.schema import Schema
from fedbary.space.walk import Batch, walk
from fedbary.valuation.rows import RowRules, ScoredRows, valued_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of more classes nobody looks at what each label's rows look like.
_MOST_CLASSES = 100


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
    places = class_positions(np.array(judge.model.classes, dtype=np.str_), classes)
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
