"""A client of the consensus protocol: answers with averages of its rows, and values its rows at home."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import PrivacyError, ProtocolError
from fedbary.protocols.agreement import answer_agreement, require_own_kinds
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.consensus.groups import (
    Group,
    blocks,
    group_width,
    grouped_points,
    may_shape,
    plan_from,
    scored_features,
    scored_summaries,
    summaries,
)
from fedbary.protocols.consensus.row_scores import profiles, score_rows, value_rows
from fedbary.protocols.first_message import FirstMessage, ReleasedRows
from fedbary.protocols.messages import Message, Reply, State, array_text, below, require_same_rows, text_array, under
from fedbary.protocols.sketch.answer import exact_answer
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.notes import fit_notes
from fedbary.space.points import Points, embed
from fedbary.space.row_identity import content_digest
from fedbary.space.schema import Schema
from fedbary.transport import barycentric_projection
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ScoredRows

Floats = NDArray[np.float64]


class ConsensusClient:
    """Holds the rows. The owner's own settings decide what may leave; a server cannot loosen them.

    Every answer is made from the k-anonymous rows (`fedbary.space.k_anonymous`); only the row count and the row
    values, which stay, are about all rows.
    """

    def __init__(self, settings: Consensus, table: Table, *, rules: RowRules) -> None:
        self._policy = settings
        self._table = table
        self._rules = rules
        self._once = FirstMessage()
        self._told = ReleasedRows(table, min_group=settings.min_group)
        self._data = ""
        self._schema: Schema | None = None
        self._cloud: Points | None = None
        self._groups: list[Group] = []
        self._shape: tuple[int, ...] | None = None  # supports, and points of each class, since the first step
        self._arrays: Mapping[str, np.ndarray] = {}
        self._cap = 0.0

    def answer(self, message: Message) -> Reply:
        """Answer one message of the server; only ``step`` may be asked more than once, once in each round."""
        known = {
            "start": self._start,
            "step": self._step,
            "centroids": self._centroids,
            "final": self._final,
            "scores": self._scores,
        }
        if message.kind not in (*known, "describe", "moments"):
            raise ProtocolError("protocols.unknown-message", protocol="consensus", kind=message.kind)
        self._once.check(replace(message, kind=f"step-{message.round}") if message.kind == "step" else message)
        if message.kind in known:
            return known[message.kind](message)
        return answer_agreement(self._table, self._told, message, min_group=self._policy.min_group)

    def row_values(self) -> ScoredRows:
        """Value, channels and suggestions of every row; never part of a reply."""
        if self._schema is None or not self._arrays:
            raise ProtocolError("protocols.rows-before-target")
        scores = score_rows(self._table, self._schema, self._target(), self._arrays)
        return value_rows(self._table, scores, self._arrays, self._rules)

    def state(self) -> State:
        """What came from the server; the rows stay where they are."""
        asked = {"asked": text_array(self._once.to_text()), "label_kind": text_array(self._told.kind)}
        if self._schema is None:
            return asked
        return asked | {
            "schema": text_array(self._schema.to_json()),
            "data": text_array(self._data),
            "cap": np.array(self._cap),
            **({} if self._shape is None else {"shape": np.array(self._shape, dtype=np.int64)}),
            **under("array.", self._arrays),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the table is another one."""
        self._once.from_text(array_text(state["asked"]))
        self._told.kind = array_text(state["label_kind"])
        if "schema" not in state:
            return
        self._embed(Schema.from_json(array_text(state["schema"])))
        require_same_rows(state, self._data, self._table.origin)
        self._cap = float(state["cap"])
        self._shape = tuple(map(int, state["shape"])) if "shape" in state else None
        self._arrays = below(state, "array.")

    def _start(self, message: Message) -> Reply:
        """Counts, means and variances of the classes that have ``min_group`` different rows."""
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        if schema.label.coordinates not in ("onehot", "numeric"):
            raise ProtocolError("protocols.label-coordinates", coordinates=schema.label.coordinates)
        require_own_kinds(self._table, schema)
        self._embed(schema)
        return Reply(message.round, {}, summaries(self._groups, group_width(schema), min_group=self._policy.min_group))

    def _step(self, message: Message) -> Reply:
        """For each class with enough rows and each start: where the support goes, and what that costs."""
        if not 1 <= message.round <= self._policy.rounds:
            raise PrivacyError("protocols.too-many-rounds", allowed=self._policy.rounds, asked=message.round)
        support, sizes = self._incoming_support(message)
        self._bind(len(support), sizes)
        moved, costs = np.zeros_like(support), np.zeros((len(support), len(sizes)))
        shaped = np.zeros(len(sizes))
        for code, (group, mine) in enumerate(zip(self._groups, blocks(sizes), strict=True)):
            if may_shape(group, sizes[code], min_group=self._policy.min_group):
                shaped[code] = 1.0
                for start, points in enumerate(support[:, mine]):
                    plan = plan_from(points, group)
                    moved[start, mine], costs[start, code] = barycentric_projection(plan, group.points), plan.cost
        return Reply(message.round, {}, {"points": moved, "costs": costs, "shaped": shaped})

    def _centroids(self, message: Message) -> Reply:
        """The rows behind the points of the best support, averaged in the features that the scoring model sees."""
        schema, cloud = self._ready()
        support, sizes = self._incoming_support(message)
        if schema.label.kind != "classes" or len(support) != 1:
            raise ProtocolError("protocols.centroids-not-possible")
        if self._shape is None:
            raise ProtocolError("protocols.centroids-before-step")
        self._bind(self._shape[0], sizes)
        first = np.unique(cloud.point_of_row, return_index=True)[1]
        values = scored_features(self._told.of(schema.label.kind), schema)[first]
        found = scored_summaries(self._groups, values, support[0], sizes, min_group=self._policy.min_group)
        return Reply(message.round, {}, found)

    def _final(self, message: Message) -> Reply:
        """Scalars against the target, which is a sketch of nothing but itself, and the profile of the rows' scores."""
        schema, cloud = self._ready()
        self._arrays, self._cap = dict(message.arrays), float(message.scalars["cap"])
        target = SketchPoints.from_arrays(vars(self._target()), self._cap, width=schema.point_width)
        found = exact_answer(cloud, target, improved=False)
        told = self._told.of(schema.label.kind)
        notes = fit_notes(told, schema, cloud, min_group=self._policy.min_group)
        scores = score_rows(told, schema, target, self._arrays)
        first = np.unique(cloud.point_of_row, return_index=True)[1]
        return Reply(
            message.round,
            {"rows": len(self._table), "cost": found.cost, "relaxed": found.relaxed},
            profiles(scores, first, min_group=self._policy.min_group),
            notes,
        )

    def _scores(self, message: Message) -> Reply:
        """The other clients' usual scores, with which the own ones are compared."""
        self._ready()
        for name in ("others.label", "others.feature"):
            array = message.arrays.get(name)
            if array is None or array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all():
                raise ProtocolError("protocols.server-array", name=name)
        self._arrays = {**self._arrays, **message.arrays}
        return Reply(message.round)

    def _incoming_support(self, message: Message) -> tuple[Floats, NDArray[np.int64]]:
        """Refuse what no honest server sends, and more messages than the owner agreed to."""
        schema, _ = self._ready()
        support, sizes = (message.arrays.get(name) for name in ("support", "sizes"))
        if support is None or sizes is None or sizes.dtype.kind != "i" or sizes.shape != (len(self._groups),):
            raise ProtocolError("protocols.support-missing")
        if support.ndim != 3 or support.shape[1:] != (sizes.sum(), group_width(schema)) or (sizes < 0).any():
            raise ProtocolError("protocols.support-shape", shape=str(support.shape))
        if not np.isfinite(support).all():
            raise ProtocolError("protocols.support-not-finite")
        most = self._policy.most_points(schema.label.kind)
        if len(support) > self._policy.starts or sizes.max(initial=0) > most:
            raise PrivacyError(
                "protocols.support-too-large",
                supports=len(support),
                points=int(sizes.max(initial=0)),
                starts=self._policy.starts,
                most=most,
            )
        return np.asarray(support, dtype=float), sizes

    def _bind(self, starts: int, sizes: NDArray[np.int64]) -> None:
        """Refuse another number of points than in the first step.

        Nine and then ten points average groups that differ by single rows, and so would show them.
        """
        shape = (starts, *map(int, sizes))
        if self._shape not in (None, shape):
            raise PrivacyError("protocols.support-changed")
        self._shape = shape

    def _target(self) -> SketchPoints:
        points, weights = (self._arrays.get(name) for name in ("points", "weights"))
        if points is None or weights is None:
            raise ProtocolError("protocols.target-incomplete")
        return SketchPoints(np.asarray(points, float), np.asarray(weights, float), np.zeros(len(weights)), self._cap)

    def _embed(self, schema: Schema) -> None:
        told = self._told.of(schema.label.kind)
        self._schema, self._cloud = schema, embed(told, schema)
        self._groups = grouped_points(told, self._cloud, schema)
        self._data = content_digest(self._table)

    def _ready(self) -> tuple[Schema, Points]:
        if self._schema is None or self._cloud is None:
            raise ProtocolError("protocols.not-started")
        return self._schema, self._cloud
