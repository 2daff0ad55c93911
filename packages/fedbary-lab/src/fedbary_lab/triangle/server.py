"""The server of TriangleWad: distances between measures that lie on the way to a common one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import DataError, ProtocolError, SettingsError
from fedbary.forms import Numbers, Record, array_text, below, text_array, under
from fedbary.protocols.forms import ROWS, fitting_replies
from fedbary.protocols.host import ALONE, Host, derived_seed
from fedbary.protocols.interpolation.server import ClientTrack
from fedbary.protocols.messages import Failure, Message, Reply, State, reply_notes
from fedbary.space.fit import fit_schema
from fedbary.space.options import Space
from fedbary.space.points import embed, random_points
from fedbary.transport import interpolate, solve
from fedbary.valuation.clients import HISTORY_COLUMNS, client_frame, outcomes_of
from fedbary.valuation.result import Valuation
from fedbary_lab.triangle import Triangle

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.rows import RowRules

Floats = NDArray[np.float64]

_REPLY = Record({"rows": ROWS, "eta_p": Numbers(("points", "width"))})


class TriangleServer:
    """Holds the reference; learns η_i, which are means of at least ``min_group`` rows, shrunk towards γ."""

    def __init__(
        self,
        settings: Triangle,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - flags need p-values, which this protocol does not know
        seed: int,
        host: Host = ALONE,
    ) -> None:
        if reference is None:
            raise SettingsError("research.triangle-without-reference")
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
                "protocols.reference-too-small", different=int(self._target.distinct), least=settings.min_group
            )
        self._tracks = {name: ClientTrack(name) for name in clients}
        self._etas: dict[int, Floats] = {}
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
        return dict.fromkeys(self._tracks, message)

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a bad answer takes its client out and nobody else."""
        form = _REPLY.sized(width=self._schema.point_width, points=range(1, self._support + 1))
        for name, reply in fitting_replies(self._tracks, replies, form, number=0).items():
            self._take(self._tracks[name], reply)
        active = [track for track in self._tracks.values() if track.failure is None]
        jobs = [(track.eta_p, self._eta_q(len(track.eta_p))) for track in active]
        for track, outcome in zip(active, self._map(partial(_distance, self._settings.p), jobs), strict=True):
            if isinstance(outcome, Failure):
                track.fail(outcome)
            else:
                track.server_distances = [outcome / (1.0 - self._settings.t)]
        self._done = True

    def so_far(self) -> Mapping[str, float]:
        """Distances of the clients that have answered."""
        valued = [track for track in self._tracks.values() if track.failure is None and track.server_distances]
        return {track.name: track.server_distances[0] for track in valued}

    def state(self) -> State:
        """Whether the round is over, and what came of it."""
        state = {"done": np.array(self._done), "schema": text_array(self._schema.fingerprint)}
        for index, track in enumerate(self._tracks.values()):
            state |= under(f"client.{index}.", track.state())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned; refuses if the reference is another one."""
        if array_text(state["schema"]) != self._schema.fingerprint:
            raise ProtocolError("protocols.reference-changed")
        self._done = bool(state["done"])
        for index, track in enumerate(self._tracks.values()):
            track.restore(below(state, f"client.{index}."))

    def result(self) -> Valuation:
        """Distances and shares; there is no interval."""
        if not self._done:
            raise ProtocolError("protocols.not-finished")
        import pandas as pd

        valued = [track for track in self._tracks.values() if track.server_distances]
        history = pd.DataFrame.from_records(
            [
                {"client": track.name, "round": 0, "estimate": track.server_distances[0], "support": len(track.eta_p)}
                for track in valued
            ],
            columns=list(HISTORY_COLUMNS),
        )
        centred = self._target.points - self._target.weights @ self._target.points
        records = [_record(track) for track in self._tracks.values()]
        return Valuation(
            clients=client_frame(records, spread=float(np.sqrt(self._target.weights @ (centred**2).sum(axis=1)))),
            outcomes=outcomes_of(records),
            history=history,
            settings={
                "protocol": self._settings.name,
                **asdict(self._settings),
                "space": asdict(self._space),
            },
            schema=self._schema,
            notes=self._schema.notes,
        )

    def _take(self, track: ClientTrack, reply: Reply | Failure) -> None:
        if isinstance(reply, Failure):
            track.fail(reply)
            return
        track.rows = int(reply.scalars["rows"])
        track.notes = reply_notes(reply)
        track.eta_p = reply.arrays["eta_p"]

    def _eta_q(self, size: int) -> Floats:
        """The reference's measure on the first ``size`` points of γ, which are a smaller client's γ."""
        if size not in self._etas:
            rng = np.random.default_rng(derived_seed(self._seed, "gamma"))
            gamma = random_points(rng, size, self._schema)
            plan = solve(gamma, self._target.points, None, self._target.weights, p=self._settings.p)
            self._etas[size] = interpolate(plan, gamma, self._target.points, 1.0 - self._settings.t)[0]
        return self._etas[size]


def _distance(p: int, job: tuple[Floats, Floats]) -> float | Failure:
    try:
        return solve(*job, p=p).distance
    except Exception as error:
        return Failure.of(error)


def _record(track: ClientTrack) -> dict[str, Any]:
    record: dict[str, Any] = {"client": track.name, "rows": track.rows or None, "outcome": track.outcome}
    return record if track.failure is not None else record | {"distance": track.server_distances[0]}
