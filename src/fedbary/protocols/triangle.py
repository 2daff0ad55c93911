"""TriangleWad (Li & Pang 2024): one round, a similar triangle instead of a search. A peer to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedbary.checks import whole
from fedbary.errors import DataError, FedbaryError, ProtocolError, SettingsError, wrong_parameter
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.interpolation.client import InterpolationClient
from fedbary.protocols.interpolation.client_track import ClientTrack
from fedbary.protocols.messages import (
    ALONE,
    NO_ANSWER,
    Failure,
    Host,
    Message,
    Reply,
    State,
    array_text,
    below,
    finite_array,
    finite_scalar,
    reply_notes,
    text_array,
    under,
)
from fedbary.protocols.randomness import derived_seed
from fedbary.space import Space, embed, fit_schema
from fedbary.transport import interpolate, solve
from fedbary.valuation.contribution import client_frame, outcomes_of
from fedbary.valuation.result import HISTORY_COLUMNS, Valuation
from fedbary.valuation.rules import RowRules

if TYPE_CHECKING:
    from fedbary.data.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Triangle:
    """Distances from a triangle that is similar to the one between γ, the client's and the reference rows.

    All tracks share a Gaussian measure γ. Client and server each walk from their rows a fraction ``t`` of the
    way to γ, which gives η_P and η_Q, and only η_P leaves the client. Were the space flat, the intercept theorem
    would say W(η_P, η_Q) = (1 − t)·W(P, Q); the estimate is therefore W(η_P, η_Q) / (1 − t). On a line that is
    exact. Elsewhere W_2 is positively curved (Ambrosio, Gigli & Savaré, theorem 7.3.2), so that along true
    geodesics the estimate is at least W(P, Q); with fewer points than rows, each the mean of several, it can
    lie on either side. No interval is certified.

    Parameters
    ----------
    support : int
        Points of γ. A client uses fewer if it has fewer than ``support·min_group`` different rows, so that every
        point it sends averages at least ``min_group`` rows; so does the server.
    t : float
        How far η lies from the rows, as a fraction of the way to γ.
    p : {1, 2}
        Order of the Wasserstein distance.
    min_group : int
        Fewest different rows behind any point that leaves a track.
    allow_reconstruction : bool
        Permit more than rows/``min_group`` points. γ and t are known to all, so the points show the rows.

    Examples
    --------
    >>> import fedbary as fb
    >>> from fedbary.protocols.triangle import Triangle
    >>> Triangle(support=50).t
    0.5
    """

    support: int = 100
    t: float = 0.5
    p: int = 2
    min_group: int = 5
    allow_reconstruction: bool = False

    name: ClassVar[str] = "triangle"
    needs_reference: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in ("support", "min_group"):
            whole(getattr(self, field), field, "Triangle", least=1)
        if not 0.0 < self.t < 1.0:
            raise wrong_parameter("t", "Triangle", "strictly between 0 and 1", self.t)
        if self.p not in (1, 2):
            raise wrong_parameter("p", "Triangle", "1 or 2", self.p)

    def space(self, space: Space | None) -> Space:
        """The paper's space, where the user did not choose another."""
        return (space or Space()).with_defaults(metric="euclidean", labels="gaussian")

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - flags need calibration scores, which this protocol does not send
        seed: int,
        host: Host = ALONE,
    ) -> TriangleServer:
        """The coordinator's half."""
        return TriangleServer(self, clients, reference, space, seed=seed, host=host)

    def client(self, table: Table, *, rules: RowRules, seed: int) -> TriangleClient:
        """A data owner's half; it draws nothing at random that is not shared."""
        return TriangleClient(self, table, rules=rules, seed=seed)


class TriangleClient(InterpolationClient):
    """An interpolation client that stops after its first half step: guards, states and row values are the same."""

    def __init__(self, settings: Triangle, table: Table, *, rules: RowRules, seed: int) -> None:
        policy = Interpolation(
            support=settings.support,
            t=1.0 - settings.t,  # Interpolation counts from γ, Triangle from the rows
            p=settings.p,
            min_group=settings.min_group,
            allow_reconstruction=settings.allow_reconstruction,
        )
        super().__init__(policy, table, rules=rules, seed=seed)

    def answer(self, message: Message) -> Reply:
        """Answer the only message there is, with η_P; η_Q is kept to score rows with.

        A second γ would group the rows in a second way, and enough of those give the rows away: it is refused.
        """
        if message.kind != "start":
            raise ProtocolError("protocols.unknown-message", protocol="triangle", kind=message.kind)
        reply = super().answer(message)
        eta_q = np.asarray(message.arrays["eta_q"], dtype=float)
        if eta_q.ndim != 2 or eta_q.shape[1] != self._gamma.shape[1] or not np.isfinite(eta_q).all():
            raise ProtocolError("protocols.measure-shape", shape=str(eta_q.shape))
        self._measures = {"eta_q": eta_q, "eta_q_weights": np.full(len(eta_q), 1.0 / len(eta_q))}
        return reply

    def _reply(self, number: int, extra: dict[str, str | int] | None = None) -> Reply:
        cloud = self._ready()
        eta_p, _ = interpolate(self._towards_rows(cloud), self._gamma, cloud.points, float(self._policy.t or 0.0))
        return Reply(number, dict(extra or {}), {"eta_p": eta_p})


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
            raise SettingsError("protocols.triangle-without-reference")
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
        for name, track in self._tracks.items():
            reply = replies.get(name, NO_ANSWER)
            try:
                if isinstance(reply, Failure):
                    track.fail(reply)
                else:
                    self._take(track, reply)
            except FedbaryError as error:
                track.fail(Failure.of(error))
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

    def _take(self, track: ClientTrack, reply: Reply) -> None:
        if reply.round != 0:
            raise ProtocolError("protocols.other-round", found=reply.round, expected=0)
        eta_p = finite_array(reply, "eta_p", (None, self._schema.point_width))
        if not 1 <= len(eta_p) <= self._support:
            raise ProtocolError("protocols.reply-too-many-points", points=len(eta_p), most=self._support)
        track.rows = int(finite_scalar(reply, "rows", least=1, most=1e12))
        track.notes = reply_notes(reply)
        track.eta_p = eta_p

    def _eta_q(self, size: int) -> Floats:
        """The reference's measure on the first ``size`` points of γ, which are a smaller client's γ."""
        if size not in self._etas:
            rng = np.random.default_rng(derived_seed(self._seed, "gamma"))
            gamma = rng.standard_normal((size, self._schema.point_width))
            plan = solve(gamma, self._target.points, None, self._target.weights, p=self._settings.p)
            self._etas[size] = interpolate(plan, gamma, self._target.points, 1.0 - self._settings.t)[0]
        return self._etas[size]


def _distance(p: int, job: tuple[Floats, Floats]) -> float | Failure:
    try:
        return solve(*job, p=p).distance
    except FedbaryError as error:
        return Failure.of(error)


def _record(track: ClientTrack) -> dict[str, Any]:
    record: dict[str, Any] = {"client": track.name, "rows": track.rows or None, "outcome": track.outcome}
    return record if track.failure is not None else record | {"distance": track.server_distances[0]}
