"""What the server remembers of one client, and its work for that client in a round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.interpolation import Interpolation
from fedbary.protocols.messages import Failure, State, array_text, text_array
from fedbary.transport import Target, interpolate, solve
from fedbary.valuation.outcome import Outcome

Floats = NDArray[np.float64]

_ARRAYS = (
    "gamma", "gamma_weights", "eta_q", "eta_q_weights", "sent_eta_q", "sent_eta_q_weights", "eta_p", "eta_p_weights",
    "potential",
)  # fmt: skip
_SETTLED_AFTER = 4


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
        finished = zip(self.client_distances, self.server_distances, self.supports, strict=False)
        for number, (a, b, support) in enumerate(finished):
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
        return {
            "gamma": self.gamma,
            "gamma_weights": self.gamma_weights,
            "eta_p": self.eta_p,
            "eta_p_weights": self.eta_p_weights,
            "eta_q": self.sent_eta_q,
            "eta_q_weights": self.sent_eta_q_weights,
        }

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        return {
            "rows": np.array(self.rows),
            "notes": text_array(notes_to_text(self.notes)),
            **({} if self.failure is None else {"failure": self.failure.to_array()}),
            "settled": np.array(self.settled),
            "client_distances": np.array(self.client_distances, dtype=float),
            "server_distances": np.array(self.server_distances, dtype=float),
            "supports": np.array(self.supports, dtype=np.int64),
            **{name: getattr(self, name) for name in _ARRAYS},
        }

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self.rows = int(state["rows"])
        self.notes = notes_from_text(array_text(state["notes"]))
        self.failure = Failure.from_array(state["failure"]) if "failure" in state else None
        self.settled = bool(state["settled"])
        self.client_distances = [float(v) for v in state["client_distances"]]
        self.server_distances = [float(v) for v in state["server_distances"]]
        self.supports = [int(v) for v in state["supports"]]
        for name in _ARRAYS:
            setattr(self, name, np.asarray(state[name], dtype=float))


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
