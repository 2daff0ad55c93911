"""A client of the sketch protocol: one answer of a few scalars; row values stay at home."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import DataError, PrivacyError, ProtocolError
from fedbary.protocols.messages import Message, Reply, Scalar, State, array_text, text_array
from fedbary.protocols.sketch.answer import exact_answer, private_answer
from fedbary.protocols.sketch.scoring import score_rows
from fedbary.protocols.sketch.settings import Sketch
from fedbary.protocols.sketch.sketch import SketchPoints, coarsened
from fedbary.space import Points, Schema, embed, fit_notes
from fedbary.valuation.gradients import calibrated_gradient, gradient_towards
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    import pandas as pd


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
        self._answered: list[str] = []

    def answer(self, message: Message) -> Reply:
        """Answer the sketch with scalars."""
        if message.kind != "sketch":
            raise ProtocolError(f"A client of the sketch protocol does not know the message {message.kind!r}.")
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        if len(self._table) < self._policy.min_group:
            raise DataError(
                f"{len(self._table)} {'row is' if len(self._table) == 1 else 'rows are'} fewer than min_group = "
                f"{self._policy.min_group}: add rows, or lower min_group if the owner agrees."
            )
        self._schema, self._cloud = schema, embed(self._table, schema)
        self._arrays, self._cap = dict(message.arrays), float(message.scalars["cap"])
        sketch = self._sketch()
        sketch.check(schema.point_width)
        self._count(message)
        return Reply(message.round, self._scalars(schema, self._cloud, self._guarded(sketch)))

    def row_values(self) -> pd.DataFrame:
        """Both channels, value, flags, reasons and suggestions; never part of a reply."""
        if self._schema is None or self._cloud is None:
            raise ProtocolError("Row values need the server's sketch first.")
        cloud, sketch = self._cloud, self._sketch()
        potentials = gradient_towards(cloud.points, cloud.weights, sketch.points, sketch.weights)
        gradient = calibrated_gradient(potentials[cloud.point_of_row])
        return score_rows(
            self._table, self._schema, sketch, self._arrays, self._rules, adapt=self._policy.adapt, gradient=gradient
        )

    def state(self) -> State:
        """What came from the server; the rows stay where they are."""
        if self._schema is None:
            return {}
        return {
            "schema": text_array(self._schema.to_json()),
            "cap": np.array(self._cap),
            "answered": text_array("\n".join(self._answered)),
            **{f"array.{name}": array for name, array in self._arrays.items()},
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if not state:
            return
        self._schema = Schema.from_json(array_text(state["schema"]))
        self._cloud = embed(self._table, self._schema)
        self._cap = float(state["cap"])
        self._answered = array_text(state["answered"]).split("\n")
        self._arrays = {key.removeprefix("array."): a for key, a in state.items() if key.startswith("array.")}

    def _scalars(self, schema: Schema, cloud: Points, sketch: SketchPoints) -> dict[str, Scalar]:
        """Everything that leaves this machine."""
        if self._policy.epsilon is None:
            found = exact_answer(cloud, sketch, improved=self._policy.lower == "improved")
            notes = "; ".join(fit_notes(self._table, schema, cloud, min_group=self._policy.min_group))
            return {
                "rows": cloud.rows,
                "cost": found.cost,
                "lower": found.lower,
                "relaxed": found.relaxed,
                "error": sketch.error,
                "notes": notes,
            }
        if schema.label.coordinates.startswith("gaussian"):
            raise PrivacyError(
                "Gaussian label coordinates depend on all of a client's rows, so no epsilon can be promised: "
                "use labels='onehot' or 'numeric'."
            )
        found = private_answer(cloud, sketch, self._policy.epsilon)
        # No notes: which classes a table lacks is not covered by epsilon.
        return {
            "rows": cloud.rows,
            "cost": found.cost,
            "lower": 0.0,
            "relaxed": found.relaxed,
            "error": sketch.error,
            "noise": found.noise,
            "notes": "",
        }

    def _guarded(self, sketch: SketchPoints) -> SketchPoints:
        if self._policy.policy == "coarsen":
            return coarsened(sketch, self._policy.min_group / len(self._table))
        return sketch

    def _count(self, message: Message) -> None:
        """Different sketches are different questions about the same rows."""
        content = b"".join(np.ascontiguousarray(message.arrays[n]).tobytes() for n in ("points", "weights"))
        digest = hashlib.sha256(str(message.scalars["fingerprint"]).encode() + content).hexdigest()
        if digest not in self._answered:
            if len(self._answered) >= self._policy.max_sketches:
                raise PrivacyError(
                    f"{self._policy.max_sketches} different sketches were answered for these rows; more could be "
                    "combined to single out rows. Raise max_sketches if the owner agrees."
                )
            self._answered.append(digest)

    def _sketch(self) -> SketchPoints:
        missing = [name for name in ("points", "weights", "variances") if name not in self._arrays]
        if missing:
            raise ProtocolError(f"The sketch lacks the array '{missing[0]}'.")
        points, weights, variances = (
            np.asarray(self._arrays[name], dtype=float) for name in ("points", "weights", "variances")
        )
        return SketchPoints(points, weights, variances, self._cap)
