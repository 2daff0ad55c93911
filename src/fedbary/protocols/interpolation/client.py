"""A client of Algorithm 1: moves γ between its own rows and the server's η_Q (lines 2, 3 and 6)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, PrivacyError, ProtocolError
from fedbary.protocols.agreement import answer_agreement, require_own_kinds
from fedbary.protocols.first_question import Once
from fedbary.protocols.interpolation import Interpolation, draw_t
from fedbary.protocols.k_anonymous_rows import ToldRows
from fedbary.protocols.messages import Message, Reply, State, array_text, text_array
from fedbary.protocols.state import below, require_same_rows, under
from fedbary.space import Points, Schema, embed, fit_notes
from fedbary.transport import Transport, interpolate, solve
from fedbary.valuation.frames import row_frame
from fedbary.valuation.gradients import calibrated_gradient, gradient_towards
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class InterpolationClient:
    """Holds the rows. The owner's own settings decide what may leave; a server cannot loosen them."""

    def __init__(self, settings: Interpolation, table: Table, *, rules: RowRules, seed: int) -> None:
        self._policy = settings
        self._table = table
        self._seed = seed
        self._rules = rules
        self._once = Once()
        self._told = ToldRows(table, min_group=settings.min_group)
        self._data = ""
        self._schema: Schema | None = None
        self._cloud: Points | None = None
        self._round = -1
        self._gamma: Floats = np.empty((0, 0))
        self._gamma_weights: Floats = np.empty(0)
        self._measures: dict[str, Floats] = {}
        self._plan: Transport | None = None  # γ to the rows; solved once per γ

    def answer(self, message: Message) -> Reply:
        """Answer one message of the server."""
        if message.kind != "step":
            self._once.check(message)
        if message.kind in ("describe", "moments"):
            return answer_agreement(self._table, self._told, message, min_group=self._policy.min_group)
        if message.kind == "start":
            return self._start(message)
        if message.kind == "step":
            return self._step(message)
        if message.kind == "scores":
            return self._take_scores(message)
        raise ProtocolError(f"A client of the interpolation protocol does not know the message {message.kind!r}.")

    def row_values(self) -> pd.DataFrame:
        """Calibrated gradient of every row, as its negative `value`: higher is better."""
        cloud = self._whole()
        potentials = self._potentials(cloud)[cloud.point_of_row]
        gradient = calibrated_gradient(potentials)
        flags = {"flag": gradient > 0} if self._rules.rule == "sign" else {}
        return row_frame(self._table.row_names, -gradient, calibrated_gradient=gradient, **flags)

    def state(self) -> State:
        """γ, the round and what came from the server; the rows stay where they are."""
        asked = {"asked": text_array(self._once.to_text()), "told": text_array(self._told.kind)}
        if self._schema is None:
            return asked
        return asked | {
            "schema": text_array(self._schema.to_json()),
            "data": text_array(self._data),
            "round": np.array(self._round),
            "gamma": self._gamma,
            "gamma_weights": self._gamma_weights,
            **under("measure.", self._measures),
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the table is another one."""
        self._once.from_text(array_text(state["asked"]))
        self._told.kind = array_text(state["told"])
        if "schema" not in state:
            return
        self._schema = Schema.from_json(array_text(state["schema"]))
        self._cloud = embed(self._spoken(self._schema), self._schema)
        self._data = _digest(self._cloud)
        require_same_rows(state, self._data, self._table.origin)
        self._round, self._plan = int(state["round"]), None
        self._gamma, self._gamma_weights = state["gamma"], state["gamma_weights"]
        self._measures = below(state, "measure.")

    def _start(self, message: Message) -> Reply:
        schema = Schema.from_json(str(message.scalars["schema"]))
        schema.require(str(message.scalars["fingerprint"]))
        if len(self._table) < self._policy.min_group:
            raise DataError(
                f"{len(self._table)} rows are fewer than min_group = {self._policy.min_group}: add rows, "
                "or lower min_group if the owner agrees."
            )
        spoken = self._spoken(schema)
        self._schema, self._cloud = schema, embed(spoken, schema)
        self._data = _digest(self._cloud)
        size = self._support_size(int(message.scalars["support"]), self._cloud)
        rng = np.random.default_rng(int(message.scalars["gamma_seed"]))
        self._gamma = rng.standard_normal((size, schema.point_width))
        self._gamma_weights = np.full(size, 1.0 / size)
        self._measures, self._round, self._plan = {}, 0, None
        notes = "; ".join(fit_notes(spoken, schema, self._cloud, min_group=self._policy.min_group))
        return self._reply(0, {"rows": len(self._table), "notes": notes})

    def _step(self, message: Message) -> Reply:
        """Move γ: η_P from the own rows, then the interpolation between η_P and the server's η_Q."""
        cloud = self._ready()
        if message.round == self._round:  # delivered twice: the same answer again
            return self._reply(message.round)
        if message.round > self._policy.rounds:
            raise PrivacyError(f"The owner allows {self._policy.rounds} rounds; round {message.round} was asked for.")
        if message.round != self._round + 1:
            raise ProtocolError(f"Round {message.round} came after round {self._round}: start the run anew.")
        eta_q, eta_q_weights = self._incoming_measure(message)
        mode = self._policy.interpolation
        eta_p, eta_p_weights = interpolate(
            self._towards_rows(cloud),
            self._gamma,
            cloud.points,
            draw_t(self._policy, self._seed, "eta", message.round),
            mode=mode,
        )
        between = solve(eta_p, eta_q, eta_p_weights, eta_q_weights, p=self._policy.p)
        self._gamma, self._gamma_weights = interpolate(
            between, eta_p, eta_q, draw_t(self._policy, self._seed, "gamma", message.round), mode=mode
        )
        self._measures = {
            "eta_q": eta_q, "eta_q_weights": eta_q_weights, "eta_p": eta_p, "eta_p_weights": eta_p_weights
        }  # fmt: skip
        self._round, self._plan = message.round, None
        return self._reply(message.round)

    def _reply(self, number: int, extra: dict[str, str | int] | None = None) -> Reply:
        distance = self._towards_rows(self._ready()).distance
        arrays = {"gamma": self._gamma}
        if self._policy.interpolation == "exact":
            arrays["gamma_weights"] = self._gamma_weights
        if self._policy.gradient.startswith("server") and "eta_p" in self._measures:
            arrays["eta_p"] = self._measures["eta_p"]
            arrays["eta_p_weights"] = self._measures["eta_p_weights"]
        return Reply(number, {"distance": distance, **(extra or {})}, arrays)

    def _take_scores(self, message: Message) -> Reply:
        """Final message: the reference (``access``) or the server's scores of the support points."""
        self._ready()
        self._measures |= {name: np.asarray(array, dtype=float) for name, array in message.arrays.items()}
        return Reply(message.round)

    def _potentials(self, cloud: Points) -> Floats:
        variant, p = self._policy.gradient, self._policy.p
        if variant == "gamma":
            return solve(self._gamma, cloud.points, self._gamma_weights, cloud.weights, p=p).target_potential
        if variant == "eta":
            if "eta_q" not in self._measures:
                raise ProtocolError("Row values need at least one finished round.")
            return gradient_towards(
                cloud.points, cloud.weights, self._measures["eta_q"], self._measures["eta_q_weights"], p=p
            )
        if variant == "access":
            target, weights = self._measures["reference"], self._measures["reference_weights"]
            return gradient_towards(cloud.points, cloud.weights, target, weights, p=p)
        # The server scored η_P's points; each row takes the score of the points that it moved.
        plan = solve(cloud.points, self._measures["eta_p"], cloud.weights, self._measures["eta_p_weights"], p=p)
        sums = np.zeros(cloud.distinct)
        np.add.at(sums, plan.source, plan.mass * self._measures["scores"][plan.target])
        return np.asarray(sums / cloud.weights)

    def _support_size(self, asked: int, cloud: Points) -> int:
        if self._policy.allow_reconstruction:
            return asked
        # A point of γ takes mass 1/S: no row may make up more than 1/min_group of that.
        most = float(cloud.weights.max())
        allowed = int(1.0 / (self._policy.min_group * most) + 1e-9)
        if allowed < 1:
            raise DataError(
                f"One row makes up {most:.0%} of the table, so an average over min_group = {self._policy.min_group} "
                "rows would still show it: remove the copies, add rows, or lower min_group if the owner agrees."
            )
        return min(asked, allowed)

    def _incoming_measure(self, message: Message) -> tuple[Floats, Floats]:
        points = np.asarray(message.arrays["eta_q"], dtype=float)
        if points.ndim != 2 or points.shape[1] != self._gamma.shape[1] or not np.isfinite(points).all():
            raise ProtocolError(f"The server's measure has shape {points.shape}, or is not finite.")
        if self._policy.interpolation == "barycentric":
            # More points than γ has could single out rows, so the guard must hold for what comes in, too.
            if len(points) != len(self._gamma):
                raise PrivacyError(f"The server sent {len(points)} points where {len(self._gamma)} were agreed.")
            return points, np.full(len(points), 1.0 / len(points))
        return points, np.asarray(message.arrays["eta_q_weights"], dtype=float)

    def _towards_rows(self, cloud: Points) -> Transport:
        if self._plan is None:
            self._plan = solve(self._gamma, cloud.points, self._gamma_weights, cloud.weights, p=self._policy.p)
        return self._plan

    def _spoken(self, schema: Schema) -> Table:
        """The rows behind γ: those that the description told of, if there was one, lest the two be subtracted."""
        if not self._told.kind or self._policy.allow_reconstruction:
            return self._table
        require_own_kinds(self._table, schema)
        return self._told.of(schema.label.kind)

    def _whole(self) -> Points:
        """All rows as points: row values are for rows that nothing is told of, too."""
        cloud = self._ready()
        assert self._schema is not None
        return cloud if self._spoken(self._schema) is self._table else embed(self._table, self._schema)

    def _ready(self) -> Points:
        if self._cloud is None:
            raise ProtocolError("The client was asked to go on before it was started.")
        return self._cloud


def _digest(cloud: Points) -> str:
    return hashlib.sha256(cloud.points.tobytes() + cloud.weights.tobytes()).hexdigest()
