"""A client of Algorithm 1: moves γ between its own rows and the server's η_Q (lines 2, 3 and 6)."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import DataError, PrivacyError, ProtocolError
from fedbary.forms import array_text, below, text_array, under
from fedbary.notes import Note
from fedbary.protocols.agreement import answer_agreement, require_own_kinds
from fedbary.protocols.client import Client, sent_schema
from fedbary.protocols.interpolation import Interpolation, draw_t
from fedbary.protocols.messages import Message, Reply, State
from fedbary.protocols.released_table import Release, ReleasedTable
from fedbary.space.notes import fit_notes, require_known_labels
from fedbary.space.points import Points, embed, random_points
from fedbary.space.schema import Schema
from fedbary.transport import Target, Transport, interpolate, solve
from fedbary.valuation.rows import RowFacts, RowRules, ScoredRows, calibrated_gradient

Floats = NDArray[np.float64]

_FARTHEST = 1e100
# Numbers and arrays that a checkpoint has, beside texts and the measures of the last round.
_KEPT = ("allowed", "gamma_seed", "round", "start_distance", "gamma", "gamma_weights", "last_potential")


class InterpolationClient(Client):
    """Moves γ by the rows; the owner's own settings decide what may leave, a server cannot loosen them."""

    def __init__(
        self, settings: Interpolation, table: Table, *, rules: RowRules, seed: int, release: Release | None = None
    ) -> None:
        super().__init__(settings, table, rules=rules, release=release, trusted=False)
        self._settings, self._t_seed = settings, seed
        # With a reference and in one process nothing is described, and γ is of all rows.
        self._of_all_rows = settings.allow_reconstruction or release is None
        self._data = ""
        self._cloud: Points | None = None
        self._rows: Target | None = None  # the cloud's points, to which every γ is transported
        self._allowed = 0  # points that the guard allows
        self._gamma_seed = 0
        self._round = -1
        self._start_distance = 0.0  # from the γ that all began with
        self._gamma: Floats = np.empty((0, 0))
        self._gamma_weights: Floats = np.empty(0)
        self._measures: dict[str, Floats] = {}
        self._plan: Transport | None = None  # γ to the rows; solved once per γ
        self._last_potential: Floats | None = None  # of the rows, a round ago: there the solve starts

    def answer(self, message: Message) -> Reply:
        """Answer one message of the server."""
        if message.kind != "step":
            self._first.check(message)
        if message.kind in ("describe", "moments"):
            return answer_agreement(self._table, self._released, message)
        if message.kind == "start":
            return self._start(message)
        if message.kind == "step":
            return self._step(message)
        raise ProtocolError("protocols.unknown-message", protocol="interpolation", kind=message.kind)

    def row_values(self) -> ScoredRows:
        """Calibrated gradient of every row, as its negative `value`: higher is better."""
        cloud = self._every_row()
        potentials = self._potentials(cloud)[cloud.point_of_row]
        gradient = calibrated_gradient(potentials)
        by_sign = self._rules.rule == "sign"
        flags = {"flag": gradient > 0} if by_sign else {}
        told = {"row": self._table.row_names, "value": -gradient, "calibrated_gradient": gradient, **flags}
        return ScoredRows(told, RowFacts(Note("valuation.flags-paper-rule")) if by_sign else RowFacts())

    def state(self) -> State:
        """γ, the round, what t is drawn with, and what came from the server; the rows stay where they are."""
        asked = {"asked": text_array(self._first.to_text()), "label_kind": text_array(self._released.kind)}
        asked["t_seed"] = np.array(self._t_seed)
        if self._schema is None:
            return asked
        kept = {name: np.asarray(value) for name in _KEPT if (value := getattr(self, f"_{name}")) is not None}
        told = {"schema": text_array(self._schema.to_json()), "data": text_array(self._data)}
        return asked | kept | told | under("measure.", self._measures)

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the table is another one."""
        self._first.from_text(array_text(state["asked"]))
        self._released.kind = array_text(state["label_kind"])
        self._t_seed = int(state["t_seed"])
        if "schema" not in state:
            return
        self._schema = Schema.from_json(array_text(state["schema"]))
        self._place(embed(self._released_table(self._schema).rows, self._schema))
        if array_text(state["data"]) != self._data:
            raise ProtocolError("protocols.rows-changed", where=self._table.origin or "the table")
        for name in _KEPT:
            value = state.get(name)
            setattr(self, f"_{name}", value if value is None or value.ndim else value.item())
        self._plan, self._measures = None, below(state, "measure.")

    def _start(self, message: Message) -> Reply:
        """Place the rows, and say how many points they allow."""
        if self._round > 0:  # rounds that begin again would give more averages than there may be
            raise ProtocolError("protocols.round-skipped", round=0, last=self._round)
        schema = sent_schema(message)
        assert schema is not None
        asked = int(message.scalars["support"])
        if asked > self._settings.support:
            raise PrivacyError("protocols.points-not-agreed", sent=asked, agreed=self._settings.support)
        self.require_rows()
        released = self._released_table(schema)
        cloud = embed(released.rows, schema)
        least = max(released.least, self._settings.min_group)
        require_known_labels(released.rows, schema, cloud, min_group=least)
        self._allowed, self._gamma_seed = self._allowed_points(asked, cloud, least), int(message.scalars["gamma_seed"])
        self._schema, self._round = schema, 0
        self._place(cloud)
        notes = fit_notes(released.rows, schema, cloud, min_group=least)
        return Reply(0, {"rows": released.declared, "allowed": self._allowed}, notes=notes)

    def _begin(self, size: int) -> None:
        """Draw the γ that all clients begin with; no more points than the guard allows."""
        if not 1 <= size <= self._allowed:
            raise PrivacyError("protocols.points-not-agreed", sent=size, agreed=self._allowed)
        assert self._schema is not None
        self._gamma = random_points(np.random.default_rng(self._gamma_seed), size, self._schema)
        self._gamma_weights = np.full(size, 1.0 / size)
        self._measures, self._plan, self._last_potential = {}, None, None

    def _step(self, message: Message) -> Reply:
        """Move γ: η_P from the own rows, then the interpolation between η_P and the server's η_Q."""
        cloud = self._ready()
        if message.round == self._round > 0:  # delivered twice: the same answer again
            return self._reply(message.round)
        if message.round > self._settings.rounds:
            raise PrivacyError("protocols.too-many-rounds", allowed=self._settings.rounds, asked=message.round)
        if message.round != self._round + 1:
            raise ProtocolError("protocols.round-skipped", round=message.round, last=self._round)
        if self._round == 0:
            self._begin(int(message.scalars.get("support", 0)))
        eta_q, eta_q_weights = self._incoming_measure(message)
        mode, towards_rows = self._settings.interpolation, self._towards_rows(cloud)
        if self._round == 0:
            self._start_distance = towards_rows.distance
        eta_p, eta_p_weights = interpolate(
            towards_rows,
            self._gamma,
            cloud.points,
            draw_t(self._settings, self._t_seed, "eta", message.round),
            mode=mode,
        )
        between = solve(eta_p, eta_q, eta_p_weights, eta_q_weights, p=self._settings.p)
        self._gamma, self._gamma_weights = interpolate(
            between, eta_p, eta_q, draw_t(self._settings, self._t_seed, "gamma", message.round), mode=mode
        )
        self._measures = {
            "eta_q": eta_q, "eta_q_weights": eta_q_weights, "eta_p": eta_p, "eta_p_weights": eta_p_weights
        }  # fmt: skip
        self._round, self._plan, self._last_potential = message.round, None, towards_rows.target_potential
        return self._reply(message.round)

    def _reply(self, number: int) -> Reply:
        distances = {"distance": self._towards_rows(self._ready()).distance}
        if number == 1:
            distances["start_distance"] = self._start_distance
        arrays = {"gamma": self._gamma}
        if self._settings.interpolation == "exact":
            arrays["gamma_weights"] = self._gamma_weights
        if self._settings.sends_eta_p:
            arrays["eta_p"] = self._measures["eta_p"]
            arrays["eta_p_weights"] = self._measures["eta_p_weights"]
        return Reply(number, distances, arrays)

    def _potentials(self, cloud: Points) -> Floats:
        """How the distance from the rows to η_Q, or to γ, changes if one of them had more mass."""
        if not self._gamma.size or "eta_q" not in self._measures:
            raise ProtocolError("protocols.rows-before-round")
        if self._settings.gradient == "gamma":
            # Potentials need not be unique: those of a solve from scratch depend on nothing but this γ.
            plan = solve(self._gamma, cloud.points, self._gamma_weights, cloud.weights, p=self._settings.p)
            return plan.target_potential
        eta_q, mass = self._measures["eta_q"], self._measures["eta_q_weights"]
        return solve(cloud.points, eta_q, cloud.weights, mass, p=self._settings.p).source_potential

    def _allowed_points(self, asked: int, cloud: Points, least: int) -> int:
        if self._settings.allow_reconstruction:
            return asked
        # A point of γ takes mass 1/S: no row may make up more than 1/min_group of that.
        most = float(cloud.weights.max())
        allowed = int(1.0 / (least * most) + 1e-9)
        if allowed < 1:
            raise DataError("protocols.one-row-weighs-too-much", share=float(most), least=least)
        return min(asked, allowed)

    def _incoming_measure(self, message: Message) -> tuple[Floats, Floats]:
        points = sent_array(message, "eta_q", (None, self._gamma.shape[1]))
        if self._settings.interpolation == "barycentric":
            # More points than γ has could single out rows, so the guard must hold for what comes in, too.
            if len(points) != len(self._gamma):
                raise PrivacyError("protocols.points-not-agreed", sent=len(points), agreed=len(self._gamma))
            return points, np.full(len(points), 1.0 / len(points))
        return points, sent_array(message, "eta_q_weights", (len(points),))

    def _towards_rows(self, cloud: Points) -> Transport:
        if self._plan is None:
            assert self._rows is not None
            self._plan = solve(
                self._gamma,
                self._rows,
                self._gamma_weights,
                cloud.weights,
                p=self._settings.p,
                start=self._last_potential,
            )
        return self._plan

    def _place(self, cloud: Points) -> None:
        self._cloud, self._rows, self._data = cloud, Target(cloud.points), _digest(cloud)

    def _released_table(self, schema: Schema) -> ReleasedTable:
        """The rows behind γ: those that were described, if they were, lest the two be subtracted."""
        if self._settings.allow_reconstruction or (self._of_all_rows and not self._released.kind):
            return ReleasedTable.whole(self._table, schema.label.kind)
        require_own_kinds(self._table, schema)
        return self._released.of(schema.label.kind)

    def _every_row(self) -> Points:
        """All rows as points: row values are for rows that are not released, too."""
        cloud = self._ready()
        assert self._schema is not None
        return cloud if self._released_table(self._schema).rows is self._table else embed(self._table, self._schema)

    def _ready(self) -> Points:
        if self._cloud is None:
            raise ProtocolError("protocols.not-started")
        return self._cloud


def sent_array(message: Message, name: str, shape: tuple[int | None, ...]) -> Floats:
    """An array that the server sent, refused unless it has this shape (None: any length) and squares are finite."""
    array = np.asarray(message.arrays.get(name))
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if array.dtype.kind != "f" or not array.size or not fits or not (np.abs(array) < _FARTHEST).all():
        raise ProtocolError("protocols.server-array", name=name)
    return array.astype(float)


def _digest(cloud: Points) -> str:
    return hashlib.sha256(cloud.points.tobytes() + cloud.weights.tobytes()).hexdigest()
