"""A client of the sketch protocol: one answer of a few scalars; row values stay at home."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, PrivacyError, ProtocolError
from fedbary.notes import Note
from fedbary.protocols.messages import Message, Reply, State, array_text, below, text_array, under
from fedbary.protocols.sketch import Sketch
from fedbary.protocols.sketch.answer import Answer, exact_answer, guarded_answer, private_answer
from fedbary.protocols.sketch.scoring import score_rows
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space.notes import fit_notes
from fedbary.space.points import Points, embed
from fedbary.space.schema import Schema
from fedbary.transport import solve
from fedbary.valuation.row_values import calibrated_gradient
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.valuation.scored_rows import ScoredRows

Floats = NDArray[np.float64]


class SketchClient:
    """Holds the rows, and the owner's policy on what may be answered."""

    def __init__(self, settings: Sketch, table: Table, *, rules: RowRules) -> None:
        self._policy = settings
        self._table = table
        self._rules = rules
        self._schema: Schema | None = None
        self._cloud: Points | None = None
        self._arrays: Mapping[str, np.ndarray] = {}
        self._cap = 0.0
        self._potentials: Floats | None = None
        # What left for each question, by the digest of its message; None where it could not be answered.
        self._answered: dict[str, Reply | None] = {}

    def answer(self, message: Message) -> Reply:
        """Answer the sketch with scalars; the same message gets the same answer, with the same noise."""
        if message.kind != "sketch":
            raise ProtocolError("protocols.unknown-message", protocol="sketch", kind=message.kind)
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        arrays, cap = dict(message.arrays), float(message.scalars["cap"])
        sketch = SketchPoints.from_arrays(arrays, cap, width=schema.point_width)
        # From here on even a refusal depends on the rows, so the question is counted first.
        digest = self._count(message)
        cloud = embed(self._table, schema)
        self._check_rows(cloud)
        self._schema, self._cloud, self._arrays, self._cap = schema, cloud, arrays, cap
        self._potentials = None
        reply = self._answered[digest] or self._reply(schema, cloud, sketch)
        self._answered[digest] = reply
        return replace(reply, round=message.round)

    def row_values(self) -> ScoredRows:
        """Both channels, value, flags, reasons and suggestions; never part of a reply."""
        if self._schema is None or self._cloud is None:
            raise ProtocolError("protocols.rows-before-sketch")
        cloud = self._cloud
        sketch = SketchPoints.from_arrays(self._arrays, self._cap, width=self._schema.point_width)
        if self._potentials is None:  # restored, or answered by another transport: merged points, capped costs
            self._potentials = solve(cloud.points, sketch.points, cloud.weights, sketch.weights).source_potential
        gradient = calibrated_gradient(self._potentials[cloud.point_of_row])
        return score_rows(
            self._table,
            cloud,
            self._schema,
            sketch,
            self._arrays,
            rules=self._rules,
            adapt=self._policy.adapt,
            gradient=gradient,
        )

    def state(self) -> State:
        """What came from the server and what went to it; the rows stay where they are."""
        if not self._answered:
            return {}
        left = {
            digest: reply and {"scalars": reply.scalars, "notes": [note.to_json() for note in reply.notes]}
            for digest, reply in self._answered.items()
        }
        answered = {"answered": text_array(json.dumps(left))}
        if self._schema is None:
            return answered
        return {
            **answered,
            "schema": text_array(self._schema.to_json()),
            "cap": np.array(self._cap),
            **under("array.", self._arrays),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if not state:
            return
        self._answered = {
            digest: left and Reply(0, left["scalars"], notes=tuple(Note.from_json(note) for note in left["notes"]))
            for digest, left in json.loads(array_text(state["answered"])).items()
        }
        if "schema" not in state:
            return
        self._schema = Schema.from_json(array_text(state["schema"]))
        self._cloud = embed(self._table, self._schema)
        self._cap = float(state["cap"])
        self._arrays = below(state, "array.")

    def _reply(self, schema: Schema, cloud: Points, sketch: SketchPoints) -> Reply:
        """Everything that leaves this machine."""
        private = self._policy.epsilon is not None
        if private:
            found = self._private(schema, cloud, sketch)
        elif self._policy.policy == "coarsen":
            found = guarded_answer(cloud, sketch, min_group=self._policy.min_group)
        else:
            found = exact_answer(cloud, sketch, improved=self._policy.lower == "improved")
        self._potentials = found.potentials
        # Which classes a table lacks is not covered by epsilon.
        notes = () if private else fit_notes(self._table, schema, cloud, min_group=self._policy.min_group)
        scalars = {
            "rows": cloud.rows,
            "cost": found.cost,
            "lower": found.lower,
            "relaxed": found.relaxed,
            "error": found.error,
            **({"noise": found.noise} if private else {}),
        }
        return Reply(0, scalars, notes=notes)

    def _private(self, schema: Schema, cloud: Points, sketch: SketchPoints) -> Answer:
        assert self._policy.epsilon is not None
        if schema.label.coordinates.startswith("gaussian"):
            raise PrivacyError("protocols.gaussian-labels-with-epsilon")
        if self._policy.policy == "coarsen":
            # By the public row count alone: what depends on the rows, epsilon would not cover.
            sketch = coarsened(sketch, self._policy.min_group / cloud.rows)
        return private_answer(cloud, sketch, self._policy.epsilon)

    def _check_rows(self, cloud: Points) -> None:
        """Refuse a table that is no group; the copies of a row are none.

        With epsilon only the row count decides: it is public, while a refusal for copies would tell of rows what
        epsilon does not cover.
        """
        least = self._policy.min_group
        if cloud.rows < least:
            raise DataError("schema.too-few-rows", rows=int(cloud.rows), least=least)
        if self._policy.epsilon is None and cloud.distinct < least:
            raise DataError("protocols.too-few-different-rows", rows=int(cloud.rows), least=least)

    def _count(self, message: Message) -> str:
        """Messages that differ in anything are different questions about the same rows."""
        digest = message.digest
        most = self._policy.most_sketches
        if digest not in self._answered and len(self._answered) >= most:
            raise PrivacyError("protocols.too-many-sketches", most=most)
        self._answered.setdefault(digest)
        return digest
