"""A client of the sketch protocol: one answer of a few scalars; row values stay at home."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
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
from fedbary.protocols.first_message import FirstMessage
from fedbary.protocols.judged_table import JudgeFold, judged_alone, row_columns
from fedbary.protocols.messages import Message, Reply, Scalar, State, array_text, below, text_array, under
from fedbary.protocols.released_table import OneRelease, Release, ReleasedTable
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.sketch.answer import Answer, exact_answer, guarded_answer, private_answer
from fedbary.protocols.sketch.numbers import PublicJudge, about_rows
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.encode import require_columns
from fedbary.space.notes import FINDINGS, CellCounts, CellFold, fit_notes, require_known_labels
from fedbary.space.points import CloudFold, Points, StoredPoints
from fedbary.space.row_identity import one_row_each
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


class SketchClient:
    """Holds the rows, and the owner's policy on what may be answered."""

    def __init__(
        self,
        settings: Sketch,
        table: Table,
        *,
        rules: RowRules,
        seed: int,  # noqa: ARG002 - nothing is drawn
        release: Release | None,
    ) -> None:
        self._policy = settings
        self._table = table
        self._released = OneRelease(table, release, min_group=settings.min_group, trusted=settings.policy == "trusted")
        self._asked = table if settings.epsilon is None else one_row_each(table)
        self._rules = rules
        self._first = FirstMessage()
        self._left: Reply | None = None
        self._schema: Schema | None = None
        self._arrays: Mapping[str, np.ndarray] = {}
        self._cap = 0.0
        self._seen: SeenRows | None = None
        self._potentials: Floats | None = None
        self._scored: ScoredRows | None = None

    def answer(self, message: Message) -> Reply:
        """Answer one sketch with scalars; the same message gets the same answer, with the same noise."""
        if message.kind != "sketch":
            raise ProtocolError("protocols.unknown-message", protocol="sketch", kind=message.kind)
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        arrays, cap = dict(message.arrays), float(message.scalars["cap"])
        sketch = SketchPoints.from_arrays(arrays, cap, width=schema.point_width)
        judge = None
        if self._policy.epsilon is not None:
            if schema.label.coordinates.startswith("gaussian"):
                raise PrivacyError("protocols.gaussian-labels-with-epsilon")
            judge = PublicJudge.of(message.scalars, arrays, schema) if self._policy.numbers else None
        if len(self._asked) < self._policy.min_group:
            raise DataError("schema.too-few-rows", rows=len(self._asked), least=self._policy.min_group)
        require_columns(self._asked, schema)
        points, rows = len(sketch.weights), len(self._asked)
        most = max(points, 0 if judge is None else len(judge.classes))
        together = min(rows, _PART) if self._policy.epsilon is None else rows
        products = rows * points * schema.point_width
        merging = points**2 * schema.point_width if self._policy.policy == "coarsen" else 0
        if most * together > _MOST_COSTS or products > _MOST_PRODUCTS or merging > _MOST_DIFFERENCES:
            raise ProtocolError("protocols.sketch-too-large", points=most, rows=rows)
        # From here on even a refusal depends on the rows, so the message is counted first.
        self._first.check(message)
        if self._schema is None:
            self._schema, self._arrays, self._cap = schema, arrays, cap
        if self._left is None:
            self._left = self._reply(schema, sketch, judge)
            self._forget()
        return replace(self._left, round=message.round)

    def row_values(self) -> ScoredRows:
        """Both channels, value, flags, reasons and suggestions; never part of a reply."""
        if self._schema is None:
            raise ProtocolError("protocols.rows-before-sketch")
        if self._scored is None:
            cloud = self._rows_seen(self._schema, self._table).cloud
            sketch = SketchPoints.from_arrays(self._arrays, self._cap, width=self._schema.point_width)
            if self._potentials is None:  # restored, or answered by another transport: merged points, capped costs
                self._potentials = solve(cloud, sketch.points, b=sketch.weights).source_potential
            self._scored = self._score(self._schema)
            self._forget()
        return self._scored

    def state(self) -> State:
        """What came from the server and what went to it; the rows stay where they are."""
        if self._schema is None:
            return {}
        left = self._left and {"scalars": self._left.scalars, "notes": [note.to_json() for note in self._left.notes]}
        return {
            "first": text_array(self._first.to_text()),
            "left": text_array(json.dumps(left)),
            "schema": text_array(self._schema.to_json()),
            "cap": np.array(self._cap),
            **under("array.", self._arrays),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if not state:
            return
        self._first.from_text(array_text(state["first"]))
        left = json.loads(array_text(state["left"]))
        self._left = left and Reply(0, left["scalars"], notes=tuple(Note.from_json(note) for note in left["notes"]))
        self._schema = Schema.from_json(array_text(state["schema"]))
        self._cap = float(state["cap"])
        self._arrays = below(state, "array.")

    def _reply(self, schema: Schema, sketch: SketchPoints, judge: PublicJudge | None) -> Reply:
        """Everything that leaves this machine."""
        if self._policy.epsilon is not None:
            rows, least = len(self._asked), self._policy.min_group
            if self._policy.policy == "coarsen":
                # By the public row count alone: what depends on the rows, epsilon would not cover.
                sketch = coarsened(sketch, least / rows)
            made = private_answer(self._asked, schema, sketch, self._policy.epsilon, judge)
            # No notes: which classes a table lacks is not covered by epsilon.
            return Reply(0, {**_scalars(rows, made.costs), "noise": made.costs.noise, **made.shares})
        return self._exact_reply(self._released.of(schema.label.kind), schema, sketch)

    def _exact_reply(self, released: ReleasedTable, schema: Schema, sketch: SketchPoints) -> Reply:
        rows, least = released.declared, max(released.least, self._policy.min_group)
        seen = self._rows_seen(schema, released.rows, least)
        cloud = seen.cloud
        if cloud.distinct < least:
            raise DataError("protocols.too-few-different-rows", rows=rows, least=least)
        require_known_labels(released.rows, schema, cloud, min_group=least)
        if self._policy.policy == "coarsen":
            found = guarded_answer(cloud.in_memory(), sketch, min_group=least)
        else:
            found = exact_answer(cloud, sketch, improved=self._policy.lower == "improved")
        if released.rows is self._table:
            self._potentials = found.potentials
        notes = fit_notes(released.rows, schema, cloud, cells=seen.cells, min_group=least)
        if not self._policy.numbers:
            return Reply(0, _scalars(rows, found), notes=tuple(note for note in notes if note.code not in FINDINGS))
        return Reply(0, {**_scalars(rows, found), **self._numbers(released, schema, seen)}, notes=notes)

    def _numbers(self, released: ReleasedTable, schema: Schema, seen: SeenRows) -> dict[str, Scalar]:
        """Estimates of how many rows are bad; none where the server's model is no use."""
        if seen.judge is None:
            logging.getLogger("fedbary.owner").warning("No numbers about the rows left: %s", seen.problem or "no model")
            return {}
        judged, judgement = judged_alone(seen.judge, None, None, rate=self._rules.fdr)
        copies, least = seen.cloud.point_of_row, released.least
        if self._policy.policy == "coarsen":
            evidence = seen.judge.evidence(judged, Groups(copies, least))
            judgement = judgements({"own": evidence}, seen.judge.model.held_out, rate=self._rules.fdr)["own"]
        told = about_rows(judgement, released.rows, schema, cells=seen.cells, copies=copies, min_group=least)
        return {**told, "shift": round(seen.judge.moved.shift, 2)}

    def _score(self, schema: Schema) -> ScoredRows:
        seen, gradient = self._rows_seen(schema, self._table), None
        if self._potentials is not None:
            gradient = calibrated_gradient(self._potentials[seen.cloud.point_of_row])
        if seen.problem is not None:
            raise seen.problem
        if seen.judge is None:
            nothing = np.zeros(len(self._table)) if gradient is None else gradient
            told = {"row": self._table.row_names, "value": -nothing, "calibrated_gradient": nothing}
            return ScoredRows(told, RowFacts(Note(ONE_CLASS)))
        judged, judgement = judged_alone(seen.judge, None, None, rate=self._rules.fdr)
        return row_columns(self._table, schema, seen.judge, judged, judgement, rules=self._rules, gradient=gradient)

    def _forget(self) -> None:
        """Once the rows have their values, what these came from is several times the table for nothing."""
        if self._scored is not None:
            self._seen = self._potentials = None

    def _rows_seen(self, schema: Schema, rows: Table, least: int = 1) -> SeenRows:
        if self._seen is None or self._seen.rows is not rows:
            self._seen = self._walk(schema, rows, least)
        return self._seen

    def _walk(self, schema: Schema, rows: Table, least: int) -> SeenRows:
        """Go through the rows once, a part at a time."""
        judge, problem = None, None
        try:
            if "classes" in self._arrays:
                model = JudgingModel.from_arrays(self._arrays, width=schema.encoded_width)
                guarded = self._policy.policy == "coarsen" and least > 1
                judge = Judge(model, len(rows), Groups(np.arange(len(rows)), least) if guarded else None)
        except FedbaryError as error:  # the distance does not need it
            problem = error
        schema.label.require(rows.labels, where=rows.origin)
        points, cells = CloudFold(schema), CellFold(schema)
        walk(rows, schema, points, cells, *([] if judge is None else [JudgeFold(judge, schema, projected=False)]))
        return SeenRows(rows, points.done(), cells.done(), judge, problem)


def _scalars(rows: int, found: Answer) -> dict[str, Scalar]:
    return {
        "rows": rows,
        "cost": found.cost,
        "lower": found.lower,
        "relaxed": found.relaxed,
        "error": found.error,
    }
