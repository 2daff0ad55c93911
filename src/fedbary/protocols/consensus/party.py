"""What the server remembers of one client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.consensus.descent import client_distances
from fedbary.protocols.messages import (
    Failure,
    Reply,
    State,
    array_text,
    below,
    reply_notes,
    text_array,
    under,
)

Floats = NDArray[np.float64]

# Numbers in a client's profile of scores.
PROFILE = 40
_NUMBERS = ("rows", "cost", "relaxed")


@dataclass(eq=False)
class Party:
    """One client as the server sees it: class-wise sums, the costs of every round, and its last answers."""

    name: str
    failure: Failure | None = None
    notes: tuple[Note, ...] = ()
    sums: dict[str, Floats] = field(default_factory=dict)
    shaped: list[Floats] = field(default_factory=list)
    costs: list[Floats] = field(default_factory=list)
    points: Floats | None = None
    scored: dict[str, Floats] = field(default_factory=dict)
    profiles: dict[str, Floats] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def counts(self) -> Floats:
        """Different rows in each class, zero where the client does not say."""
        return self.sums["counts"]

    @property
    def spread(self) -> float:
        """How wide the client's classes are, in the space of the support."""
        return float(np.sqrt(self.sums["variances"][self.counts > 0].sum(axis=1).mean()))

    def take_sums(self, reply: Reply) -> None:
        """Keep the answer to ``start``."""
        if (reply.arrays["counts"] % 1 != 0).any():
            raise ProtocolError("protocols.reply-absurd-sums")
        self.sums = dict(reply.arrays)

    def take_step(
        self, reply: Reply, support: Floats, sizes: NDArray[np.int64], *, farthest: float
    ) -> tuple[Floats, Floats, Floats]:
        """Check the answer to ``step`` completely before anything of it is used: points, costs, counts."""
        points, costs = reply.arrays["points"], reply.arrays["costs"]
        shaped = self.mask(reply) * (sizes > 0)
        class_of = np.repeat(np.arange(len(sizes)), sizes)
        off = np.abs(points - support)[:, shaped[class_of] > 0].max(initial=0.0)
        reach = max(float(off), float(np.sqrt((costs * shaped).max(initial=0.0))))
        if reach > farthest:
            raise ProtocolError("protocols.points-far-off", reach=float(reach), farthest=float(farthest))
        # Jensen: no honest cost is below the squared way of the points themselves, whatever the client claims.
        ways = np.where(shaped[class_of] > 0, ((points - support) ** 2).sum(axis=2) / sizes[class_of], 0.0)
        least = np.zeros_like(costs)
        np.add.at(least.T, class_of, ways.T)
        costs = np.maximum(costs, least) * shaped
        if shaped.any():
            self.shaped.append(shaped)
            self.costs.append(costs)
            self.points = points
        return points, costs, self.counts * shaped

    def take_scored(self, reply: Reply) -> None:
        """Check and keep the answer to ``centroids``."""
        centroids, within = reply.arrays["centroids"], reply.arrays["within"]
        shaped = self.mask(reply)
        variances = np.diag(within)
        if (variances < 0).any() or np.abs(within).max() > variances.max() * (1.0 + 1e-9):
            raise ProtocolError("protocols.reply-impossible-covariance")
        self.scored = {"centroids": centroids, "within": within, "shaped": shaped}

    def mask(self, reply: Reply) -> Floats:
        """Which classes a reply shapes; refused where the client did not name them."""
        shaped = reply.arrays["shaped"]
        if not np.isin(shaped, (0.0, 1.0)).all() or (shaped > (self.counts > 0)).any():
            raise ProtocolError("protocols.reply-unnamed-classes")
        return shaped

    def take_numbers(self, reply: Reply, cap: float) -> None:
        """Check and keep the answer to ``final``."""
        numbers = {key: float(reply.scalars[key]) for key in _NUMBERS}
        if numbers["relaxed"] > cap * (1.0 + 1e-9):
            raise ProtocolError("protocols.claim-relaxed", relaxed=numbers["relaxed"], most=float(cap))
        self.notes = reply_notes(reply)
        self.numbers, self.profiles = numbers, dict(reply.arrays)

    def averages(self, start: int, sizes: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], Floats, float]:
        """The client as averages of its rows: points, classes, how many rows each averages, and their scatter.

        The last round's points of one start where the client shaped a class, its mean where it only named it.
        """
        shaped = self.shaped[-1] if self.points is not None else np.zeros(len(sizes))
        class_of = np.repeat(np.arange(len(sizes)), sizes)
        points, classes, counts = [], [], []
        for code in np.flatnonzero(self.counts):
            mean = self.sums["means"][[code]]
            own = self.points[start][class_of == code] if self.points is not None and shaped[code] else mean
            points.append(own)
            classes += [code] * len(own)
            counts += [self.counts[code] / len(own)] * len(own)
        joined, of, many = np.vstack(points), np.array(classes, dtype=np.int64), np.array(counts)
        between = many @ ((joined - self.sums["means"][of]) ** 2).sum(axis=1)
        total = self.counts @ self.sums["variances"].sum(axis=1)
        return joined, of, many, max(float(total - between), 0.0)

    def distances(self, start: int) -> list[float]:
        """W_i to the support of one start, before each of its moves."""
        rounds = zip(self.shaped, self.costs, strict=True)
        return [float(client_distances(self.counts * shaped, costs[start])) for shaped, costs in rounds]

    def history(self, start: int, support: int) -> Iterator[dict[str, Any]]:
        """One record per round in which the client shaped the target."""
        for number, distance in enumerate(self.distances(start), start=1):
            yield {
                "client": self.name,
                "round": number,
                "client_distance": distance,
                "server_distance": None,
                "estimate": distance,
                "support": support,
            }

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        state = {
            **({} if self.failure is None else {"failure": self.failure.to_array()}),
            "notes": text_array(notes_to_text(self.notes)),
            **under("sums.", self.sums),
            **under("scored.", self.scored),
            **under("profile.", self.profiles),
        }
        if self.costs:
            state |= {"shaped": np.array(self.shaped), "costs": np.array(self.costs)}
        if self.points is not None:
            state["points"] = self.points
        if self.numbers:
            state["numbers"] = np.array([self.numbers[key] for key in _NUMBERS])
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self.failure = Failure.from_array(state["failure"]) if "failure" in state else None
        self.notes = notes_from_text(array_text(state["notes"]))
        self.sums, self.scored = below(state, "sums."), below(state, "scored.")
        self.profiles = below(state, "profile.")
        self.shaped, self.costs = list(state.get("shaped", ())), list(state.get("costs", ()))
        self.points = state.get("points")
        numbers = state.get("numbers", ())
        self.numbers = {key: float(number) for key, number in zip(_NUMBERS, numbers, strict=False)}
