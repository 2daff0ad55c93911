"""The server of Algorithm 1: answers every γ with η_Q, and without a reference moves the barycenter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, ProtocolError, SettingsError
from fedbary.protocols.agreement import SchemaAgreement
from fedbary.protocols.host import ALONE, Host
from fedbary.protocols.interpolation import Interpolation, draw_t
from fedbary.protocols.interpolation.client_track import Party, Step, server_step
from fedbary.protocols.messages import (
    Failure,
    Message,
    Reply,
    State,
    array_text,
    finite_array,
    finite_scalar,
    scalar_text,
    text_array,
)
from fedbary.protocols.randomness import derived_seed, generator
from fedbary.protocols.state import below, under
from fedbary.space import Schema, Space, embed, fit_schema
from fedbary.transport import barycentric_projection, solve
from fedbary.valuation.frames import client_frame
from fedbary.valuation.result import HISTORY_COLUMNS, Valuation

Floats = NDArray[np.float64]

_LONGEST_NOTE = 2000
_ABSURD = 1e6
# In exact mode the support roughly doubles every round; beyond this a round no longer fits in memory.
_MOST_POINTS = 8000


class InterpolationServer:
    """Holds the reference, or finds the barycenter; learns γ_i and distances, never rows (see docs/privacy.md)."""

    def __init__(
        self,
        settings: Interpolation,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        seed: int,
        host: Host = ALONE,
    ) -> None:
        if reference is None and settings.gradient in ("access", "server-eta"):
            raise SettingsError(f"gradient='{settings.gradient}' needs a reference: give one, or use gradient='eta'.")
        self._settings = settings
        self._space = space
        self._seed = seed
        self._map = host.map
        self._fixed = reference is not None
        self._parties = {name: Party(name) for name in clients}
        self._round = 0
        self._stage = "start" if reference is not None else "agree"
        self._agreement = SchemaAgreement(space, seed=derived_seed(seed, "projection") % 2**31)
        self._target: Floats = np.empty((0, 0))
        self._target_weights: Floats = np.empty(0)
        if reference is not None:
            schema = fit_schema(reference, space, seed=derived_seed(seed, "projection") % 2**31)
            cloud = embed(reference, schema)
            self._agreement.schema = schema
            self._target, self._target_weights = cloud.points, cloud.weights

    # --- the protocol ---------------------------------------------------------------------------------

    def tasks(self) -> Mapping[str, Message]:
        """Messages for the clients that are still in; empty when done."""
        if self._stage == "agree":
            return {party.name: self._agreement.message() for party in self._active()}
        if self._stage == "start":
            message = self._start_message()
            return {party.name: message for party in self._active()}
        if self._stage == "step":
            return {party.name: self._step_message(party) for party in self._active() if not party.settled}
        if self._stage == "scores":
            return self._score_messages()
        return {}

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`; a bad answer takes its client out and nobody else."""
        asked = set(self.tasks())
        replies = {name: reply for name, reply in replies.items() if name in asked}
        for name in asked.difference(replies):
            self._parties[name].fail("no answer")
        if self._stage == "agree":
            self._absorb_agreement(replies)
        elif self._stage == "scores":
            for name, reply in replies.items():
                if isinstance(reply, Failure):
                    self._parties[name].fail(reply.reason)
            self._stage = "done"
        else:
            self._absorb_measures(replies)

    def so_far(self) -> Mapping[str, float]:
        """Upper ends of the distances after the last finished round."""
        valued = [party for party in self._active() if party.estimates()]
        return {party.name: party.interval(fixed_target=self._fixed)[1] for party in valued}

    def state(self) -> State:
        """Arrays from which `restore` goes on to the same bytes."""
        state: dict[str, np.ndarray] = {
            "stage": text_array(self._stage),
            "round": np.array(self._round),
            "target": self._target,
            "target_weights": self._target_weights,
        }
        state |= under("agreement.", self._agreement.state())
        for index, party in enumerate(self._parties.values()):
            state |= under(f"party.{index}.", party.state())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._stage, self._round = array_text(state["stage"]), int(state["round"])
        self._target, self._target_weights = state["target"], state["target_weights"]
        self._agreement.restore(below(state, "agreement."))
        for index, party in enumerate(self._parties.values()):
            party.restore(below(state, f"party.{index}."))

    def result(self) -> Valuation:
        """Distances, intervals, shares and the history of every client."""
        if self._stage != "done":
            raise ProtocolError("The run is not finished: absorb the answers to tasks() until there are none.")
        import pandas as pd

        history = pd.DataFrame.from_records(
            [record for party in self._parties.values() for record in party.history()],
            columns=list(HISTORY_COLUMNS),
        )
        schema = self._agreement.schema
        return Valuation(
            clients=client_frame([self._record(party) for party in self._parties.values()], spread=self._spread()),
            history=history,
            settings={
                "protocol": self._settings.name,
                **asdict(self._settings),
                "space": asdict(self._space),
            },
            schema=schema,
            target=None if self._fixed or not len(self._target) else self._target,
            notes=() if schema is None else schema.notes,
        )

    # --- messages -------------------------------------------------------------------------------------

    def _start_message(self) -> Message:
        # One γ^(0) for all, and one t of the server per round: clients then differ by their data alone.
        schema = self._schema()
        return Message(
            "start",
            0,
            {
                "schema": schema.to_json(),
                "fingerprint": schema.fingerprint,
                "support": self._settings.support,
                "gamma_seed": derived_seed(self._seed, "gamma"),
            },
        )

    def _step_message(self, party: Party) -> Message:
        arrays = {"eta_q": party.eta_q}
        if self._settings.interpolation == "exact":
            arrays["eta_q_weights"] = party.eta_q_weights
        return Message("step", self._round, {}, arrays)

    def _score_messages(self) -> dict[str, Message]:
        messages = {}
        for party in self._active():
            try:
                messages[party.name] = self._score_message(party)
            except FedbaryError as error:
                party.fail(str(error))
        return messages

    def _score_message(self, party: Party) -> Message:
        if self._settings.gradient == "access":
            return Message(
                "scores",
                self._round,
                {},
                {"reference": self._target, "reference_weights": self._target_weights},
            )
        eta_p, weights = party.eta_p, party.eta_p_weights
        if self._settings.gradient == "server-eta":
            plan = solve(eta_p, self._target, weights, self._target_weights, p=self._settings.p)
        else:
            plan = solve(eta_p, party.sent_eta_q, weights, party.sent_eta_q_weights, p=self._settings.p)
        return Message("scores", self._round, {}, {"scores": plan.source_potential})

    # --- answers --------------------------------------------------------------------------------------

    def _absorb_agreement(self, replies: Mapping[str, Reply | Failure]) -> None:
        for name, reason in self._agreement.absorb(replies).items():
            self._parties[name].fail(reason)
        if not self._active():
            self._stage = "done"
        elif self._agreement.schema is not None:
            rng = generator(self._seed, "target")
            self._target = rng.standard_normal((self._settings.support, self._schema().point_width))
            self._target_weights = np.full(self._settings.support, 1.0 / self._settings.support)
            self._stage = "start"

    def _absorb_measures(self, replies: Mapping[str, Reply | Failure]) -> None:
        for name, reply in replies.items():
            party = self._parties[name]
            try:
                if isinstance(reply, Failure):
                    party.fail(reply.reason)
                else:
                    self._take(party, reply)
            except FedbaryError as error:
                party.fail(str(error))
        moving = [party for party in self._active() if not party.settled]
        if not self._fixed and moving:
            self._move_target(moving)
            moving = [party for party in moving if party.failure is None]
        self._step_all(moving)
        self._round += 1
        for party in moving:
            limited = self._settings.interpolation == "exact" and len(party.gamma) > _MOST_POINTS
            if self._fixed and party.has_settled(self._settings.tolerance):
                party.settled = True
            elif limited:
                party.settled = True
                party.notes.append(f"stopped in round {self._round - 1} with {len(party.gamma)} support points")
        if not self._fixed and moving and all(party.has_settled(self._settings.tolerance) for party in moving):
            for party in moving:
                party.settled = True
        if self._round > self._settings.rounds or all(party.settled for party in self._active()):
            scored = self._settings.gradient in ("access", "server-eta", "server-gamma") and self._active()
            self._stage = "scores" if scored else "done"
        else:
            self._stage = "step"

    def _take(self, party: Party, reply: Reply) -> None:
        """Check one answer completely before anything of it is used."""
        if reply.round != self._round:
            raise ProtocolError(f"the reply belongs to round {reply.round}, expected {self._round}")
        width = self._schema().point_width
        exact = self._settings.interpolation == "exact"
        gamma = finite_array(reply, "gamma", (None if exact or self._stage == "start" else len(party.gamma), width))
        if not 1 <= len(gamma) <= (np.inf if exact else self._settings.support):
            raise ProtocolError(
                f"the reply has {len(gamma)} support points, at most {self._settings.support} were agreed"
            )
        weights = (
            finite_array(reply, "gamma_weights", (len(gamma),)) if exact else np.full(len(gamma), 1.0 / len(gamma))
        )
        distance = finite_scalar(reply, "distance")
        if self._stage == "start":
            party.rows = int(finite_scalar(reply, "rows", least=1, most=1e12))
            notes = scalar_text(reply, "notes", longest=_LONGEST_NOTE)
            party.notes = [notes] if notes else []
        if self._settings.gradient.startswith("server") and self._stage == "step":
            if len(gamma) != party.rows:
                raise ProtocolError(
                    f"gradient='{self._settings.gradient}' needs as many support points as different rows, but the "
                    f"client has {party.rows} rows and {len(gamma)} points: set support to the number of rows"
                )
            party.eta_p = finite_array(reply, "eta_p", (None, width))
            party.eta_p_weights = finite_array(reply, "eta_p_weights", (len(party.eta_p),))
        party.sent_eta_q, party.sent_eta_q_weights = party.eta_q, party.eta_q_weights
        party.gamma, party.gamma_weights = gamma, weights
        party.client_distances.append(distance)
        party.supports.append(len(gamma))

    def _step_all(self, parties: list[Party]) -> None:
        """OT between each γ and the target (line 4): distance, and η_Q for the next round."""
        work = partial(server_step, self._target, self._target_weights, self._settings.p, self._settings.interpolation)
        jobs = [
            (party.gamma, party.gamma_weights, draw_t(self._settings, self._seed, "server", self._round))
            for party in parties
        ]
        for party, outcome in zip(parties, self._map(work, jobs), strict=True):
            if isinstance(outcome, Step):
                party.server_distances.append(outcome.distance)
                party.eta_q, party.eta_q_weights = outcome.eta, outcome.eta_weights
            else:
                party.fail(outcome)

    def _move_target(self, parties: list[Party]) -> None:
        """Line 7: the barycenter's points move to the mean of where the γ_i take them."""
        self._fail_absurd(parties)
        moved = []
        for party in parties:
            if party.failure is None:
                try:
                    plan = solve(
                        self._target, party.gamma, self._target_weights, party.gamma_weights, p=self._settings.p
                    )
                    moved.append(barycentric_projection(plan, party.gamma))
                except FedbaryError as error:
                    party.fail(str(error))
        if moved:
            self._target = np.mean(moved, axis=0)

    def _fail_absurd(self, parties: list[Party]) -> None:
        """A measure that is finite but a million times as large as the others' would move the common target."""
        sizes = {party.name: float(np.abs(party.gamma).max()) for party in parties}
        usual = float(np.median(list(sizes.values())))
        for party in parties:
            if sizes[party.name] > _ABSURD * max(usual, 1.0):
                party.fail(f"its measure reaches {sizes[party.name]:.3g}, the others' about {usual:.3g}")

    # --- small things ---------------------------------------------------------------------------------

    def _record(self, party: Party) -> dict[str, Any]:
        status = "; ".join(["ok", *party.notes]) if party.failure is None else f"failed: {party.failure}"
        record: dict[str, Any] = {"client": party.name, "rows": party.rows or None, "status": status}
        if party.failure is None and party.estimates():
            low, distance = party.interval(fixed_target=self._fixed)
            record |= {"distance": distance, "low": low, "high": distance}
        return record

    def _active(self) -> list[Party]:
        return [party for party in self._parties.values() if party.failure is None]

    def _schema(self) -> Schema:
        if self._agreement.schema is None:
            raise ProtocolError("The federation has not agreed on a schema yet.")
        return self._agreement.schema

    def _spread(self) -> float:
        if not len(self._target):
            return 0.0
        centre = self._target_weights @ self._target
        return float(np.sqrt(self._target_weights @ ((self._target - centre) ** 2).sum(axis=1)))
