"""The server of Algorithm 1: answers every γ with η_Q, and without a reference moves the barycenter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import ProtocolError, wrong_parameter
from fedbary.forms import Record, array_text, below, text_array, under
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.agreement import SchemaAgreement
from fedbary.protocols.forms import fitting_replies
from fedbary.protocols.host import ALONE, Host, derived_seed, generator
from fedbary.protocols.interpolation import Interpolation, draw_t
from fedbary.protocols.interpolation.forms import EXCHANGES, points_up_to
from fedbary.protocols.messages import NO_ANSWER, Failure, Message, Reply, Scalar, State, reply_notes
from fedbary.protocols.server import Server, finished, schema_scalars
from fedbary.space.fit import fit_schema
from fedbary.space.options import Space
from fedbary.space.points import embed, random_points
from fedbary.space.schema import Schema
from fedbary.transport import Target, barycentric_projection, interpolate, solve
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import Valuation
from fedbary.valuation.rows import RowRules

Floats = NDArray[np.float64]

_SETTLED_AFTER = 4
# Fields of a track that a checkpoint has as texts.
_TEXTS = ("notes", "failure")
# By fewer points than this nobody is compared, lest one client that says 1 make a single average of everybody's rows;
# how well five and more of them order clients is in docs/decisions/046-one-support-for-all.md.
LEAST_SUPPORT = 5
# With fewer than these, clients with wrong labels may seem nearer than others (same page).
ENOUGH_SUPPORT = 10
# Of ten clients so many must allow the number.
_OF_TEN = 9

_ABSURD = 1e6
# Solvers may miss an optimum by less than this.
_CONTRADICTION = 1e-3
# In exact mode the support roughly doubles every round; beyond this a round no longer fits in memory.
_MOST_POINTS = 8000
# ... and after the round in which it passed that limit it may have as many points again, and those of the target.
_MOST_EXACT_POINTS = 10**5


def _empty() -> Floats:
    return np.empty((0, 0))


@dataclass(eq=False)
class ClientTrack:
    """One client, as the server follows it from round to round."""

    name: str
    rows: int = 0
    notes: tuple[Note, ...] = ()
    failure: Failure | None = None
    settled: bool = False
    client_distances: list[float] = field(default_factory=list)
    server_distances: list[float] = field(default_factory=list)
    supports: list[int] = field(default_factory=list)
    gamma: Floats = field(default_factory=_empty)
    gamma_weights: Floats = field(default_factory=_empty)
    eta_q: Floats = field(default_factory=_empty)
    eta_q_weights: Floats = field(default_factory=_empty)
    sent_eta_q: Floats = field(default_factory=_empty)
    sent_eta_q_weights: Floats = field(default_factory=_empty)
    eta_p: Floats = field(default_factory=_empty)
    eta_p_weights: Floats = field(default_factory=_empty)
    potential: Floats = field(default_factory=_empty)

    def fail(self, failure: Failure) -> None:
        """Take the client out; what it sent before stays in the history."""
        self.failure = failure

    @property
    def outcome(self) -> Outcome:
        """How the run went for the client so far."""
        return Outcome(notes=self.notes) if self.failure is None else self.failure.outcome

    def estimates(self) -> list[float]:
        """A^(k) = W(P, γ^(k)) + W(γ^(k), Q) for every finished round."""
        return [a + b for a, b in zip(self.client_distances, self.server_distances, strict=False)]

    def interval(self, *, fixed_target: bool) -> tuple[float, float]:
        """Certified ends of the distance: |W(P, γ) − W(γ, Q)| ≤ W(P, Q) ≤ W(P, γ) + W(γ, Q).

        With a fixed target the bounds of every round hold, so the best are taken; a moving target leaves only
        the last round's.
        """
        pairs = list(zip(self.client_distances, self.server_distances, strict=False))
        rounds = pairs if fixed_target else pairs[-1:]
        return max(abs(a - b) for a, b in rounds), min(a + b for a, b in rounds)

    def has_settled(self, tolerance: float) -> bool:
        """Whether the last estimates agree; one short step of a random t must not look like convergence."""
        last = self.estimates()[-_SETTLED_AFTER:]
        return len(last) == _SETTLED_AFTER and max(last) - min(last) <= tolerance * max(last)

    def history(self) -> Iterator[dict[str, Any]]:
        """One record per finished round."""
        rounds = zip(self.client_distances, self.server_distances, self.supports, strict=False)
        for number, (a, b, support) in enumerate(rounds):
            yield {
                "client": self.name,
                "round": number,
                "client_distance": a,
                "server_distance": b,
                "estimate": a + b,
                "support": support,
            }

    def measures(self) -> dict[str, Floats]:
        """γ, η_P and η_Q of the last round with their weights; η_Q is the one that this γ lies on the way to."""
        of_track = {"gamma": "gamma", "eta_p": "eta_p", "eta_q": "sent_eta_q"}
        return {name + end: getattr(self, own + end) for name, own in of_track.items() for end in ("", "_weights")}

    def state(self) -> dict[str, np.ndarray]:
        """Arrays from which `restore` goes on: the fields, as they are."""
        state = {name: np.asarray(value) for name, value in vars(self).items() if name not in ("name", *_TEXTS)}
        state["notes"] = text_array(notes_to_text(self.notes))
        return state if self.failure is None else {**state, "failure": self.failure.to_array()}

    def restore(self, state: State) -> None:
        for name, value in vars(ClientTrack(self.name)).items():
            if name not in ("name", *_TEXTS):
                setattr(self, name, state[name] if isinstance(value, np.ndarray) else state[name].tolist())
        self.notes = notes_from_text(array_text(state["notes"]))
        self.failure = Failure.from_array(state["failure"]) if "failure" in state else None


@dataclass(frozen=True, eq=False)
class Step:
    """The server's answer to one γ."""

    distance: float
    potential: Floats
    eta: Floats
    eta_weights: Floats


def server_step(
    target: Target,
    target_weights: Floats,
    settings: Interpolation,
    t: float,
    job: tuple[Floats, Floats, Floats],
) -> Step | Failure:
    """Distance from one γ to the target and the interpolating measure η_Q, or why it cannot be had.

    The job is γ, its weights, and the target's potentials in the round before, or none. A plain function of arrays, so
    that an engine can run many of them at a time.
    """
    gamma, weights, start = job
    try:
        plan = solve(gamma, target, weights, target_weights, p=settings.p, start=start if start.size else None)
        eta = interpolate(plan, gamma, target.points, t, mode=settings.interpolation)
        return Step(plan.distance, plan.target_potential, *eta)
    except Exception as error:
        return Failure.of(error)


def common_support(allowed: Iterable[int], asked: int) -> int:
    """The largest number of points that nine of ten clients allow.

    What a client allows is its own claim. One that allows fewer than ``LEAST_SUPPORT`` (or than was asked for, where
    that is less) is not counted; of up to nine that are, every one has to allow the number.

    Parameters
    ----------
    allowed : iterable of int
        What each client allows.
    asked : int
        What the settings ask for.

    Returns
    -------
    int
        The number; ``LEAST_SUPPORT`` where nobody allows as many.
    """
    least = min(asked, LEAST_SUPPORT)
    counted = sorted((one for one in allowed if one >= least), reverse=True)
    if not counted:
        return least
    needed = -(-len(counted) * _OF_TEN // 10)
    return min(counted[needed - 1], asked)


class InterpolationServer(Server):
    """Holds the reference, or finds the barycenter; learns γ_i and distances, never rows (see docs/privacy.md)."""

    part = "client.{}."

    def __init__(
        self,
        settings: Interpolation,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,  # noqa: ARG002 - flags need p-values, which this protocol does not know
        seed: int,
        host: Host = ALONE,
    ) -> None:
        if isinstance(settings.weights, Mapping) and set(settings.weights) != set(clients):
            expected = f"a mapping with a weight for each of {', '.join(clients)}"
            raise wrong_parameter("weights", "Interpolation", expected, dict(settings.weights))
        super().__init__(settings, clients, space, seed, host)
        self._settings, self._fixed = settings, reference is not None
        self._t_seed = seed if host.secret is None else host.secret
        self._tracks = {name: ClientTrack(name) for name in clients}
        self._stage, self._round = "start" if self._fixed else "agree", 0
        at = derived_seed(seed, "projection") % 2**31
        self._agreement = SchemaAgreement(space, seed=at)
        self._target: Floats = np.empty((0, 0))
        self._target_weights: Floats = np.empty(0)
        if reference is not None:
            self._agreement.schema = fit_schema(reference, space, seed=at)
            cloud = embed(reference, self._agreement.schema)
            self._target, self._target_weights = cloud.points, cloud.weights

    # --- the protocol ---------------------------------------------------------------------------------

    def tasks(self) -> Mapping[str, Message]:
        """Messages for the clients that are still in; empty when done."""
        asked = self._asked()
        if self._stage == "agree":
            return dict.fromkeys(asked, self._agreement.message())
        if self._stage == "start":
            # One γ^(0) for all, and one t of the server per round: clients then differ by their data alone.
            seed = derived_seed(self._seed, "gamma")
            scalars = {**schema_scalars(self._schema()), "support": self._settings.support, "gamma_seed": seed}
            return dict.fromkeys(asked, Message("start", 0, scalars))
        messages = {}
        for track in map(self._tracks.__getitem__, asked):
            arrays = {"eta_q": track.eta_q}
            if self._settings.interpolation == "exact":
                arrays["eta_q_weights"] = track.eta_q_weights
            support: dict[str, Scalar] = {"support": track.supports[0]} if self._round == 1 else {}
            messages[track.name] = Message("step", self._round, support, arrays)
        return messages

    def _asked(self) -> list[str]:
        """The clients that are still in, and in rounds those whose estimate has not settled."""
        if self._stage not in ("agree", "start", "step"):
            return []
        return [track.name for track in self._active() if self._stage != "step" or not track.settled]

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`; a bad answer takes its client out and nobody else."""
        if self._stage == "agree":
            agreed = {name: replies.get(name, NO_ANSWER) for name in self._asked()}
            for name, failure in self._agreement.absorb(agreed).items():
                self._tracks[name].fail(failure)
            if not self._active():
                self._stage = "done"
            elif self._agreement.schema is not None:
                self._stage = "start"
            return
        answers: dict[str, Reply] = {}
        for name, reply in fitting_replies(self._asked(), replies, self._reply_form(), number=self._round).items():
            try:
                if isinstance(reply, Failure):
                    self._tracks[name].fail(reply)
                elif self._stage == "start":
                    answers[name] = reply
                else:
                    self._take(self._tracks[name], reply)
            except Exception as error:
                self._tracks[name].fail(Failure.of(error))
        if self._stage == "start":
            self._absorb_start(answers)
        else:
            self._advance([track for track in self._active() if not track.settled])

    def so_far(self) -> Mapping[str, float]:
        """Upper ends of the distances after the last finished round."""
        valued = [track for track in self._active() if track.estimates()]
        return {track.name: track.interval(fixed_target=self._fixed)[1] for track in valued}

    def _kept(self) -> dict[str, np.ndarray]:
        return {
            "round": np.array(self._round),
            "t_seed": np.array(self._t_seed),
            "target": self._target,
            "target_weights": self._target_weights,
            **under("agreement.", self._agreement.state()),
        }

    def _keep(self, state: State) -> None:
        self._round, self._t_seed = int(state["round"]), int(state["t_seed"])
        self._target, self._target_weights = state["target"], state["target_weights"]
        self._agreement.restore(below(state, "agreement."))

    def _kept_of(self, name: str) -> dict[str, np.ndarray]:
        return self._tracks[name].state()

    def _keep_of(self, name: str, part: State) -> None:
        self._tracks[name].restore(part)

    def result(self) -> Valuation:
        """Distances, intervals, shares and the history of every client."""
        finished(self._stage == "done")
        schema, tracks, spread = self._agreement.schema, self._tracks.values(), 0.0
        if len(self._target):
            centred = self._target - self._target_weights @ self._target
            spread = float(np.sqrt(self._target_weights @ (centred**2).sum(axis=1)))
        records = []
        for track in tracks:
            record: dict[str, Any] = {"client": track.name, "rows": track.rows or None, "outcome": track.outcome}
            if track.failure is None and track.estimates():
                low, distance = track.interval(fixed_target=self._fixed)
                record |= {"distance": distance, "low": low, "high": distance}
            records.append(record)
        return self._valuation(
            records,
            spread=spread,
            settings={},
            history=[record for track in tracks for record in track.history()],
            schema=schema,
            target=None if self._fixed or not len(self._target) else self._target,
            measures={track.name: track.measures() for track in self._active()} if self._settings.keep_measures else {},
            notes=(*(() if schema is None else schema.notes), *self._few_points()),
        )

    def _few_points(self) -> tuple[Note, ...]:
        """That one small client made everybody's points few."""
        asked, used = self._settings.support, [track.supports[0] for track in self._active() if track.supports]
        if not used or used[0] >= min(asked, ENOUGH_SUPPORT):
            return ()
        return (Note("protocols.few-points", {"support": used[0]}),)

    # --- answers --------------------------------------------------------------------------------------

    def _absorb_start(self, replies: Mapping[str, Reply]) -> None:
        """Agree on the number of points, and begin with the same γ^(0) for all who allow as many."""
        allowed = {name: int(reply.scalars["allowed"]) for name, reply in replies.items()}
        sizes = self._sizes(allowed)
        for name, reply in replies.items():
            track = self._tracks[name]
            track.rows, track.notes = int(reply.scalars["rows"]), reply_notes(reply)
            size = sizes[name]
            if allowed[name] < size:
                points = {"allowed": allowed[name], "support": size}
                track.fail(Failure(Note("protocols.too-small-for-support", points)))
                continue
            rng = np.random.default_rng(derived_seed(self._seed, "gamma"))
            track.gamma, track.gamma_weights = random_points(rng, size, self._schema()), np.full(size, 1.0 / size)
            track.supports.append(size)
        moving = self._active()
        if not self._fixed and moving:
            size = max(len(track.gamma) for track in moving)
            self._target = random_points(generator(self._seed, "target"), size, self._schema())
            self._target_weights = np.full(size, 1.0 / size)
        self._advance(moving)

    def _sizes(self, allowed: Mapping[str, int]) -> Mapping[str, int]:
        """How many points each client begins with: all the same number."""
        return dict.fromkeys(allowed, common_support(allowed.values(), self._settings.support))

    def _advance(self, moving: list[ClientTrack]) -> None:
        """Move the barycenter, if it is one, take the server's step for every γ, and see who is done."""
        if not self._fixed and moving:
            self._move_target(moving)
            moving = [track for track in moving if track.failure is None]
        self._step_all(moving)
        # Of a target that stays, no bound contradicts another: whose distances cannot all be true is out.
        for track in moving if self._fixed else ():
            if track.failure is None and track.estimates():
                low, high = track.interval(fixed_target=True)
                if low > high * (1.0 + _CONTRADICTION):
                    track.fail(Failure(Note("protocols.claim-ends", {"lower": low, "upper": high})))
        self._round += 1
        for track in moving:
            limited = self._settings.interpolation == "exact" and len(track.gamma) > _MOST_POINTS
            if self._fixed and track.has_settled(self._settings.tolerance):
                track.settled = True
            elif limited:
                track.settled = True
                stopped = {"round": self._round - 1, "points": len(track.gamma)}
                track.notes = (*track.notes, Note("protocols.stopped", stopped))
        if not self._fixed and moving and all(track.has_settled(self._settings.tolerance) for track in moving):
            for track in moving:
                track.settled = True
        if self._round > self._settings.rounds or all(track.settled for track in self._active()):
            self._stage = "done"
        else:
            self._stage = "step"

    def _reply_form(self) -> Record:
        """What the clients' answers must look like now."""
        form = EXCHANGES[self._stage].reply
        if self._stage == "start":
            return replace(form, fields={**form.fields, "allowed": points_up_to(self._settings.support)})
        if self._round == 1:
            form = form.requiring("start_distance")
        exact = self._settings.interpolation == "exact"
        most = _MOST_EXACT_POINTS if exact else self._settings.support
        needed = ["gamma_weights"] if exact else []
        needed += ["eta_p", "eta_p_weights"] if self._settings.sends_eta_p else []
        return form.sized(width=self._schema().point_width, points=range(1, most + 1)).requiring(*needed)

    def _take(self, track: ClientTrack, reply: Reply) -> None:
        """Keep one answer, if it goes on from the one before."""
        gamma, exact = reply.arrays["gamma"], self._settings.interpolation == "exact"
        if not exact and len(gamma) != len(track.gamma):
            raise ProtocolError("protocols.reply-other-points", points=len(gamma), agreed=len(track.gamma))
        weights = reply.arrays["gamma_weights"] if exact else np.full(len(gamma), 1.0 / len(gamma))
        if self._settings.sends_eta_p:
            track.eta_p, track.eta_p_weights = reply.arrays["eta_p"], reply.arrays["eta_p_weights"]
        track.sent_eta_q, track.sent_eta_q_weights = track.eta_q, track.eta_q_weights
        track.gamma, track.gamma_weights = gamma, weights
        if not track.client_distances:
            track.client_distances.append(float(reply.scalars["start_distance"]))
        track.client_distances.append(float(reply.scalars["distance"]))
        track.supports.append(len(gamma))

    def _step_all(self, tracks: list[ClientTrack]) -> None:
        """OT between each γ and the target (line 4): distance, and η_Q for the next round."""
        if not tracks:  # nobody began, so that there may be no target either
            return
        settings = self._settings
        t = draw_t(settings, self._t_seed, "server", self._round)
        target = Target(self._target)
        work = partial(server_step, target, self._target_weights, settings, t)
        # Clients begin with the same γ, which needs to be transported only once.
        of_track = [_digest(track) if self._round == 0 else track.name for track in tracks]
        jobs = {
            key: (track.gamma, track.gamma_weights, track.potential)
            for key, track in zip(of_track, tracks, strict=True)
        }
        outcomes = dict(zip(jobs, self._host.map(work, list(jobs.values())), strict=True))
        for track, key in zip(tracks, of_track, strict=True):
            outcome = outcomes[key]
            if isinstance(outcome, Step):
                track.server_distances.append(outcome.distance)
                track.potential = outcome.potential
                track.eta_q, track.eta_q_weights = outcome.eta, outcome.eta_weights
            else:
                track.fail(outcome)

    def _move_target(self, tracks: list[ClientTrack]) -> None:
        """Line 7: the barycenter's points move to the mean of where the γ_i take them."""
        self._fail_absurd(tracks)
        moved = {}
        for track in tracks:
            if track.failure is None:
                try:
                    plan = solve(
                        self._target, track.gamma, self._target_weights, track.gamma_weights, p=self._settings.p
                    )
                    moved[track.name] = barycentric_projection(plan, track.gamma)
                except Exception as error:
                    track.fail(Failure.of(error))
        chosen, weights = self._settings.weights, None  # λ of these clients; None where all are equal
        if isinstance(chosen, Mapping):
            weights = [float(chosen[name]) for name in moved]
        elif chosen == "rows":
            weights = [float(self._tracks[name].rows) for name in moved]
        if moved and (weights is None or sum(weights) > 0.0):
            self._target = np.average(list(moved.values()), axis=0, weights=weights)

    def _fail_absurd(self, tracks: list[ClientTrack]) -> None:
        """A measure that is finite but a million times as large as the others' would move the common target."""
        sizes = {track.name: float(np.abs(track.gamma).max()) for track in tracks}
        usual = float(np.median(list(sizes.values())))
        for track in tracks:
            if sizes[track.name] > _ABSURD * max(usual, 1.0):
                reach = {"reach": sizes[track.name], "usual": usual}
                track.fail(Failure(Note("protocols.measure-too-large", reach)))

    def _active(self) -> list[ClientTrack]:
        return [track for track in self._tracks.values() if track.failure is None]

    def _schema(self) -> Schema:
        if self._agreement.schema is None:
            raise ProtocolError("protocols.no-schema-yet")
        return self._agreement.schema


def _digest(track: ClientTrack) -> str:
    return hashlib.blake2b(track.gamma.tobytes() + track.gamma_weights.tobytes()).hexdigest()
