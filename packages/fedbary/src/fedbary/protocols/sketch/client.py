"""A client of the sketch protocol: one answer of a few scalars; row values stay at home."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, FedbaryError, PrivacyError, ProtocolError
from fedbary.judging.evidence import Groups
from fedbary.judging.federation import judgements
from fedbary.judging.judge import Judge
from fedbary.judging.model import JudgingModel
from fedbary.notes import Note
from fedbary.protocols.client import Client, JudgeFold, judged_alone, row_columns, sent_schema
from fedbary.protocols.halves import Private
from fedbary.protocols.messages import Message, Reply, Scalar
from fedbary.protocols.released_table import Release, ReleasedTable
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.sketch.answer import Answer, exact_answer, guarded_answer, private_answer
from fedbary.protocols.sketch.numbers import PublicJudge, about_rows
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.encode import require_columns
from fedbary.space.notes import FINDINGS, CellCounts, CellFold, fit_notes, require_known_labels
from fedbary.space.points import CloudFold, Points, StoredPoints
from fedbary.space.schema import Schema
from fedbary.space.walk import walk
from fedbary.transport import solve
from fedbary.valuation.rows import ONE_CLASS, RowFacts, RowRules, ScoredRows, calibrated_gradient

Floats = NDArray[np.float64]

# Costs at all points of the rows that are in memory together, or their votes for all classes: four gigabytes. With
# epsilon these are all rows.
_PART, _MOST_COSTS = 65_536, 2**29
# Products of all rows with all points: about a minute, which a transport takes several times. Merging points one after
# the other: some ten seconds.
_MOST_PRODUCTS, _MOST_DIFFERENCES = 2**41, 2**33


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What one walk tells: the cloud of the rows, their counted cells, and a judge that has seen them.

    ``judge`` is None where the server sent nothing to judge by, or, as ``problem`` says, nothing sensible.
    """

    rows: Table
    cloud: Points | StoredPoints
    cells: CellCounts
    judge: Judge | None
    problem: FedbaryError | None


class SketchClient(Client):
    """Answers one sketch, by the owner's policy on what may be answered."""

    def __init__(
        self,
        settings: Sketch,
        table: Table,
        *,
        rules: RowRules,
        seed: int,  # noqa: ARG002 - nothing is drawn
        release: Release | None,
    ) -> None:
        super().__init__(settings, table, rules=rules, release=release, trusted=settings.policy == "trusted")
        self._settings, self._guarded = settings, settings.policy == "coarsen"
        self._seen: SeenRows | None = None
        self._potentials: Floats | None = None

    def answer(self, message: Message) -> Reply:
        """Answer one sketch with scalars; the same message gets the same answer, with the same noise."""
        if message.kind != "sketch":
            raise ProtocolError("protocols.unknown-message", protocol="sketch", kind=message.kind)
        schema = sent_schema(message)
        assert schema is not None
        arrays = {**message.arrays, "cap": np.array(float(message.scalars["cap"]))}
        sketch = SketchPoints.from_arrays(arrays, float(arrays["cap"]), width=schema.point_width)
        judge = None
        if self._private:
            if schema.label.coordinates.startswith("gaussian"):
                raise PrivacyError("protocols.gaussian-labels-with-epsilon")
            judge = PublicJudge.of(message.scalars, arrays, schema) if self._settings.numbers else None
        self.require_rows()
        require_columns(self._asked, schema)
        points, rows = len(sketch.weights), len(self._asked)
        most = max(points, 0 if judge is None else len(judge.classes))
        together = rows if self._private else min(rows, _PART)
        products = rows * points * schema.point_width
        merging = points**2 * schema.point_width if self._guarded else 0
        if most * together > _MOST_COSTS or products > _MOST_PRODUCTS or merging > _MOST_DIFFERENCES:
            raise ProtocolError("protocols.sketch-too-large", points=most, rows=rows)
        # From here on even a refusal depends on the rows, so the message is counted first.
        self._first.check(message)
        if self._schema is None:
            self._schema, self._received = schema, arrays
        if message.kind not in self._left:
            self._left[message.kind] = self._reply(schema, sketch, judge)
            self._forget()
        return replace(self._left[message.kind], round=message.round)

    def row_values(self) -> ScoredRows:
        """Both channels, value, flags, reasons and suggestions; never part of a reply."""
        if self._schema is None:
            raise ProtocolError("protocols.rows-before-sketch")
        if self._scored is None:
            self._scored = self._score(self._schema)
            self._forget()
        return self._scored

    def _reply(self, schema: Schema, sketch: SketchPoints, judge: PublicJudge | None) -> Reply:
        """Everything that leaves this machine."""
        if isinstance(trust := self._settings.trust, Private):
            rows = len(self._asked)
            if self._guarded:
                # By the public row count alone: what depends on the rows, epsilon would not cover.
                sketch = coarsened(sketch, self._least / rows)
            made = private_answer(self._asked, schema, sketch, trust.epsilon, judge)
            # No notes: which classes a table lacks is not covered by epsilon.
            return Reply(0, {**_scalars(rows, made.costs), "noise": made.costs.noise, **made.shares})
        return self._exact_reply(self._released.of(schema.label.kind), schema, sketch)

    def _exact_reply(self, released: ReleasedTable, schema: Schema, sketch: SketchPoints) -> Reply:
        rows, least = released.declared, max(released.least, self._least)
        seen = self._rows_seen(schema, released.rows, least)
        cloud = seen.cloud
        if cloud.distinct < least:
            raise DataError("protocols.too-few-different-rows", rows=rows, least=least)
        require_known_labels(released.rows, schema, cloud, min_group=least)
        if self._guarded:
            found = guarded_answer(cloud.in_memory(), sketch, min_group=least)
        else:
            found = exact_answer(cloud, sketch, improved=self._settings.lower == "improved")
        if released.rows is self._table:
            self._potentials = found.potentials
        notes = fit_notes(released.rows, schema, cloud, cells=seen.cells, min_group=least)
        if not self._settings.numbers:
            return Reply(0, _scalars(rows, found), notes=tuple(note for note in notes if note.code not in FINDINGS))
        return Reply(0, {**_scalars(rows, found), **self._numbers(released, schema, seen)}, notes=notes)

    def _numbers(self, released: ReleasedTable, schema: Schema, seen: SeenRows) -> dict[str, Scalar]:
        """Estimates of how many rows are bad; none where the server's model is no use."""
        if seen.judge is None:
            logging.getLogger("fedbary.owner").warning("No numbers about the rows left: %s", seen.problem or "no model")
            return {}
        judged, judgement = judged_alone(seen.judge, None, None, rate=self._rules.fdr)
        copies, least = seen.cloud.point_of_row, released.least
        if self._guarded:
            evidence = seen.judge.evidence(judged, Groups(copies, least))
            judgement = judgements({"own": evidence}, seen.judge.model.held_out, rate=self._rules.fdr)["own"]
        told = about_rows(judgement, released.rows, schema, cells=seen.cells, copies=copies, min_group=least)
        return {**told, "shift": round(seen.judge.moved.shift, 2)}

    def _score(self, schema: Schema) -> ScoredRows:
        seen, cap = self._rows_seen(schema, self._table), float(self._received["cap"])
        if self._potentials is None:  # restored, or answered by another transport: merged points, capped costs
            sketch = SketchPoints.from_arrays(self._received, cap, width=schema.point_width)
            self._potentials = solve(seen.cloud, sketch.points, b=sketch.weights).source_potential
        gradient = calibrated_gradient(self._potentials[seen.cloud.point_of_row])
        if seen.problem is not None:
            raise seen.problem
        if seen.judge is None:
            told = {"row": self._table.row_names, "value": -gradient, "calibrated_gradient": gradient}
            return ScoredRows(told, RowFacts(Note(ONE_CLASS)))
        judged, judgement = judged_alone(seen.judge, None, None, rate=self._rules.fdr)
        return row_columns(self._table, schema, seen.judge, judged, judgement, rules=self._rules, gradient=gradient)

    def _forget(self) -> None:
        """Once the rows have their values, what these came from is several times the table for nothing."""
        if self._scored is not None:
            self._seen = self._potentials = None

    def _rows_seen(self, schema: Schema, rows: Table, least: int = 1) -> SeenRows:
        """What is told by going through the rows once, a part at a time."""
        if self._seen is not None and self._seen.rows is rows:
            return self._seen
        judge, problem = None, None
        try:
            if "classes" in self._received:
                model = JudgingModel.from_arrays(self._received, width=schema.encoded_width)
                guarded = self._guarded and least > 1
                judge = Judge(model, len(rows), Groups(np.arange(len(rows)), least) if guarded else None)
        except FedbaryError as error:  # the distance does not need it
            problem = error
        schema.label.require(rows.labels, where=rows.origin)
        points, cells = CloudFold(schema), CellFold(schema)
        walk(rows, schema, points, cells, *([] if judge is None else [JudgeFold(judge, schema, projected=False)]))
        self._seen = SeenRows(rows, points.done(), cells.done(), judge, problem)
        return self._seen


def _scalars(rows: int, found: Answer) -> dict[str, Scalar]:
    return {"rows": rows, **{name: getattr(found, name) for name in ("cost", "lower", "relaxed", "error")}}
