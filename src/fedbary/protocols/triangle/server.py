"""The coordinator's half: where the clients' measures lie, and how far from the reference's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError
from fedbary.protocols.host import ALONE, Host
from fedbary.protocols.interpolation.client_track import Party
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
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.state import below, under
from fedbary.protocols.triangle import Triangle
from fedbary.space import Space, embed, fit_schema
from fedbary.transport import interpolate, solve
from fedbary.valuation.frames import client_frame
from fedbary.valuation.result import HISTORY_COLUMNS, Valuation

if TYPE_CHECKING:
    from fedbary.data.table import Table

Floats = NDArray[np.float64]

_LONGEST_NOTE = 2000


class TriangleServer:
    """Holds the reference; learns η_i, which are means of at least ``min_group`` rows, shrunk towards γ."""

    def __init__(
        self,
        settings: Triangle,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        seed: int,
        host: Host = ALONE,
    ) -> None:
        if reference is None:
            raise SettingsError(
                "The triangle protocol compares clients with a reference: give one, or use Interpolation."
            )
        self._settings = settings
        self._space = space
        self._seed = seed
        self._map = host.map
        self._schema = fit_schema(reference, space, seed=derived_seed(seed, "projection") % 2**31)
        self._target = embed(reference, self._schema)
        self._support = settings.support
        if not settings.allow_reconstruction:
            self._support = min(settings.support, self._target.distinct // settings.min_group)
        if self._support < 1:
            raise DataError(
                f"The reference has {self._target.distinct} different rows, fewer than min_group = "
                f"{settings.min_group}: add rows, or lower min_group."
            )
        self._parties = {name: Party(name) for name in clients}
        self._done = False

    def tasks(self) -> Mapping[str, Message]:
        """The one message, the same for everybody."""
        if self._done:
            return {}
        message = Message(
            "start",
            0,
            {
                "schema": self._schema.to_json(),
                "fingerprint": self._schema.fingerprint,
                "support": self._support,
                "gamma_seed": derived_seed(self._seed, "gamma"),
            },
            {"eta_q": self._eta_q(self._support)},
        )
        return dict.fromkeys(self._parties, message)

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a bad answer takes its client out and nobody else."""
        for name, party in self._parties.items():
            reply = replies.get(name, Failure("no answer"))
            try:
                if isinstance(reply, Failure):
                    party.fail(reply.reason)
                else:
                    self._take(party, reply)
            except FedbaryError as error:
                party.fail(str(error))
        active = [party for party in self._parties.values() if party.failure is None]
        eta_q = {size: self._eta_q(size) for size in {len(party.eta_p) for party in active}}
        jobs = [(party.eta_p, eta_q[len(party.eta_p)]) for party in active]
        for party, outcome in zip(active, self._map(partial(_distance, self._settings.p), jobs), strict=True):
            if isinstance(outcome, str):
                party.fail(outcome)
            else:
                party.server_distances = [outcome / (1.0 - self._settings.t)]
        self._done = True

    def so_far(self) -> Mapping[str, float]:
        """Distances of the clients that have answered."""
        valued = [party for party in self._parties.values() if party.failure is None and party.server_distances]
        return {party.name: party.server_distances[0] for party in valued}

    def state(self) -> State:
        """Whether the round is over, and what came of it."""
        state = {"done": np.array(self._done), "schema": text_array(self._schema.fingerprint)}
        for index, party in enumerate(self._parties.values()):
            state |= under(f"party.{index}.", party.state())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the reference is another one."""
        if array_text(state["schema"]) != self._schema.fingerprint:
            raise ProtocolError("The reference changed since the run was interrupted: start it anew.")
        self._done = bool(state["done"])
        for index, party in enumerate(self._parties.values()):
            party.restore(below(state, f"party.{index}."))

    def result(self) -> Valuation:
        """Distances and shares; there is no interval."""
        if not self._done:
            raise ProtocolError("The run is not finished: absorb the answers to tasks() until there are none.")
        import pandas as pd

        valued = [party for party in self._parties.values() if party.server_distances]
        history = pd.DataFrame.from_records(
            [
                {"client": party.name, "round": 0, "estimate": party.server_distances[0], "support": len(party.eta_p)}
                for party in valued
            ],
            columns=list(HISTORY_COLUMNS),
        )
        centred = self._target.points - self._target.weights @ self._target.points
        return Valuation(
            clients=client_frame(
                [_record(party) for party in self._parties.values()],
                spread=float(np.sqrt(self._target.weights @ (centred**2).sum(axis=1))),
            ),
            history=history,
            settings={
                "protocol": self._settings.name,
                **asdict(self._settings),
                "space": asdict(self._space),
            },
            schema=self._schema,
            notes=self._schema.notes,
        )

    def _take(self, party: Party, reply: Reply) -> None:
        if reply.round != 0:
            raise ProtocolError(f"the reply belongs to round {reply.round}, expected 0")
        eta_p = finite_array(reply, "eta_p", (None, self._schema.point_width))
        if not 1 <= len(eta_p) <= self._support:
            raise ProtocolError(f"the reply has {len(eta_p)} support points, at most {self._support} were agreed")
        party.rows = int(finite_scalar(reply, "rows", least=1, most=1e12))
        notes = scalar_text(reply, "notes", longest=_LONGEST_NOTE)
        party.notes = [notes] if notes else []
        party.eta_p = eta_p

    def _eta_q(self, size: int) -> Floats:
        """The reference's measure on the first ``size`` points of γ, which are a smaller client's γ."""
        rng = np.random.default_rng(derived_seed(self._seed, "gamma"))
        gamma = rng.standard_normal((size, self._schema.point_width))
        plan = solve(gamma, self._target.points, None, self._target.weights, p=self._settings.p)
        return interpolate(plan, gamma, self._target.points, 1.0 - self._settings.t)[0]


def _distance(p: int, job: tuple[Floats, Floats]) -> float | str:
    try:
        return solve(*job, p=p).distance
    except FedbaryError as error:
        return str(error)


def _record(party: Party) -> dict[str, Any]:
    status = "; ".join(["ok", *party.notes]) if party.failure is None else f"failed: {party.failure}"
    record: dict[str, Any] = {"client": party.name, "rows": party.rows or None, "status": status}
    return record if party.failure is not None else record | {"distance": party.server_distances[0]}
