"""The server of the consensus protocol: averages the clients' answers into a target, then reads their scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary.protocols.agreement import SchemaAgreement
from fedbary.protocols.consensus import Consensus
from fedbary.protocols.consensus.descent import Answers, class_weights, move, objective, support_sizes
from fedbary.protocols.consensus.forms import EXCHANGES
from fedbary.protocols.consensus.groups import group_count, group_width, scored_width
from fedbary.protocols.consensus.model import ScoredSums, leave_one_out
from fedbary.protocols.consensus.party import Party
from fedbary.protocols.consensus.row_scores import usual_profile
from fedbary.protocols.consensus.target import Target, make_target
from fedbary.protocols.forms import Form, fitting_replies
from fedbary.protocols.host import ALONE, Host
from fedbary.protocols.messages import (
    NO_ANSWER,
    Failure,
    Message,
    Reply,
    State,
    array_text,
    below,
    text_array,
    under,
)
from fedbary.protocols.randomness import derived_seed, generator
from fedbary.space.options import Space
from fedbary.space.schema import Schema
from fedbary.valuation.contribution import client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import HISTORY_COLUMNS, Valuation

Floats = NDArray[np.float64]

# Farther from the others than so many spreads, a finite number is an error or an attack.
_ABSURD = 1e6
# Smoothing δ of the robust weights, in spreads: a client that claims to be at distance 0 must not decide alone.
_FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class Agreed:
    """The target and its features (``support``), class by class; the usual variances inside classes; the clients.

    ``averages`` are the clients' points, classes, counts and scatter (see `Party.averages`).
    """

    target: Target
    support: Floats
    classes: NDArray[np.int64]
    variances: Floats
    averages: Mapping[str, tuple[Floats, NDArray[np.int64], Floats, float]]


class ConsensusServer:
    """Holds the support; learns class-wise sums, averages of at least ``min_group`` rows, and scalars."""

    def __init__(
        self, settings: Consensus, clients: Sequence[str], space: Space, *, seed: int, host: Host = ALONE
    ) -> None:
        self._settings, self._space = settings, space
        self._seed, self._map = seed, host.map
        self._parties = {name: Party(name) for name in clients}
        self._agreement = SchemaAgreement(space, seed=derived_seed(seed, "projection") % 2**31)
        self._stage, self._round = "agree", 0
        self._sizes = np.zeros(0, dtype=np.int64)  # support points of each class
        self._support: Floats = np.empty((settings.starts, 0, 0))
        self._objectives: list[Floats] = []
        self._spread = 1.0
        self._last: dict[str, Message] | None = None  # the final messages, made once

    # --- the protocol ---------------------------------------------------------------------------------

    def tasks(self) -> Mapping[str, Message]:
        """Messages for the clients that are asked now; empty when done."""
        if self._stage == "final":
            if self._last is None:
                self._last = self._final_messages()
            return self._last
        if self._stage == "scores":
            return {party.name: self._score_message(party) for party in self._asked()}
        return {party.name: self._message() for party in self._asked()}

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`; a bad answer takes its client out and nobody else."""
        asked = [party.name for party in self._asked()]
        if self._stage == "agree":
            self._absorb_agreement({name: replies.get(name, NO_ANSWER) for name in asked})
            return
        answers: dict[str, Reply] = {}
        for name, reply in fitting_replies(asked, replies, self._reply_form(), number=self._round).items():
            if isinstance(reply, Reply):
                answers[name] = reply
            elif self._stage != "scores":  # by then the client has said all that its valuation needs
                self._parties[name].failure = reply
        if self._stage == "start":
            self._absorb_sums(answers)
        elif self._stage == "step":
            self._absorb_step(answers)
        elif self._stage == "centroids":
            self._absorb_centroids(answers)
        elif self._stage == "final":
            self._absorb_numbers(answers)
        else:
            self._stage = "done"

    def so_far(self) -> Mapping[str, float]:
        """Distances to the target: those of the last step as in the history, and in the end the final ones."""
        found: dict[str, float] = {}
        for party in self._parties.values():
            if party.failure is None and party.numbers:
                found[party.name] = float(np.sqrt(party.numbers["cost"]))
            elif party.failure is None and party.costs:
                found[party.name] = party.distances(self._best())[-1]
        return found

    def state(self) -> State:
        """Arrays from which `restore` goes on to the same bytes."""
        state: dict[str, np.ndarray] = {
            "stage": text_array(self._stage),
            "round": np.array(self._round),
            "sizes": self._sizes,
            "support": self._support,
            "objectives": np.array(self._objectives, dtype=float),
            "spread": np.array(self._spread),
        }
        state |= under("agreement.", self._agreement.state())
        for index, party in enumerate(self._parties.values()):
            state |= under(f"party.{index}.", party.state())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._stage, self._round = array_text(state["stage"]), int(state["round"])
        self._sizes, self._support = state["sizes"], state["support"]
        self._objectives, self._spread = list(state["objectives"]), float(state["spread"])
        self._last = None
        self._agreement.restore(below(state, "agreement."))
        for index, party in enumerate(self._parties.values()):
            party.restore(below(state, f"party.{index}."))

    def result(self) -> Valuation:
        """Distances to the consensus, shares, quality, and the history of its rounds."""
        if self._stage != "done":
            raise ProtocolError("protocols.not-finished")
        import pandas as pd

        schema = self._agreement.schema
        target = self._target() if self._sizes.any() else None
        size = int(self._sizes.sum())
        history = pd.DataFrame.from_records(
            [record for party in self._parties.values() for record in party.history(self._best(), size)],
            columns=list(HISTORY_COLUMNS),
        ).astype({"server_distance": "float64"})
        records = [self._record(party, 1.0 if target is None else target.cap) for party in self._parties.values()]
        return Valuation(
            clients=client_frame(records, spread=0.0 if target is None else target.spread),
            outcomes=outcomes_of(records),
            history=history,
            settings={"protocol": self._settings.name, **asdict(self._settings), "space": asdict(self._space)},
            schema=schema,
            target=None if target is None else target.points,
            notes=() if schema is None else (*schema.notes, *self._notes(schema)),
        )

    @property
    def label_kind(self) -> str | None:
        """What the clients' labels are, once they have agreed on it."""
        return None if self._agreement.schema is None else self._agreement.schema.label.kind

    def agreed(self) -> Agreed | None:
        """What the finished run knows of clients and classes besides its result; None if nothing was agreed on."""
        parties = [party for party in self._parties.values() if party.failure is None and party.counts.any()]
        if self._stage != "done" or not self._sizes.any() or not parties:
            return None
        usual = np.zeros_like(parties[0].sums["variances"])
        for code in range(len(usual)):
            if having := [party.sums["variances"][code] for party in parties if party.counts[code]]:
                usual[code] = np.median(having, axis=0)
        best = self._best()
        return Agreed(
            self._target(),
            self._support[best],
            self._class_of(),
            usual,
            {party.name: party.averages(best, self._sizes) for party in parties},
        )

    # --- messages -------------------------------------------------------------------------------------

    def _asked(self) -> list[Party]:
        active = [party for party in self._parties.values() if party.failure is None]
        if self._stage in ("step", "centroids"):
            least = self._settings.min_group * self._sizes
            return [party for party in active if ((party.counts >= least) & (self._sizes > 0)).any()]
        return [] if self._stage == "done" else active

    def _message(self) -> Message:
        if self._stage == "agree":
            return self._agreement.message()
        if self._stage == "start":
            schema = self._schema()
            return Message("start", self._round, {"schema": schema.to_json(), "fingerprint": schema.fingerprint})
        if self._stage == "centroids":
            best = self._support[[self._best()]]
            return Message("centroids", self._round, {}, {"support": best, "sizes": self._sizes})
        return Message("step", self._round, {}, {"support": self._support, "sizes": self._sizes})

    def _final_messages(self) -> dict[str, Message]:
        """The target for everybody, and for each client the scoring model that was made without it."""
        target = self._target()
        arrays = {"points": target.points, "weights": target.weights}
        parties = list(self._parties.values())
        asked = [index for index, party in enumerate(parties) if party.failure is None]
        models: list[dict[str, np.ndarray]] = [{}] * len(asked)
        if self._schema().label.kind == "classes":
            models = list(self._map(partial(leave_one_out, self._scored_sums(parties)), asked))
        return {
            parties[index].name: Message("final", self._round, {"cap": target.cap}, arrays | model)
            for index, model in zip(asked, models, strict=True)
        }

    def _scored_sums(self, parties: list[Party]) -> ScoredSums:
        """What the clients said of their scored features; one that failed or was not asked has weight zero."""
        schema = self._schema()
        class_of, width = self._class_of(), scored_width(schema)
        counts = np.zeros((len(parties), len(self._sizes)))
        centroids = np.zeros((len(parties), len(class_of), width))
        distances = np.zeros(len(parties))
        within = [np.zeros((0, 0))] * len(parties)
        for index, party in enumerate(parties):
            if party.failure is None and party.scored:
                counts[index] = party.counts * party.scored["shaped"]
                centroids[index], within[index] = party.scored["centroids"], party.scored["within"]
                distances[index] = (party.distances(self._best()) or [0.0])[-1]
        weights = class_weights(self._settings.weights, counts, distances, self._floor)
        return ScoredSums(schema.label.classes, class_of, counts, weights, centroids, within)

    def _score_message(self, party: Party) -> Message:
        others = [other for other in self._asked() if other is not party]
        usual = {f"others.{key}": usual_profile([o.profiles[key] for o in others]) for key in ("label", "feature")}
        return Message("scores", self._round, {}, usual)

    # --- answers --------------------------------------------------------------------------------------

    def _reply_form(self) -> Form:
        """What the clients' answers must look like now."""
        schema = self._schema()
        sizes = {
            "start": {"groups": group_count(schema), "width": group_width(schema)},
            "step": dict(zip(("starts", "points", "width"), self._support.shape, strict=True)),
            "centroids": {"points": self._support.shape[1], "features": scored_width(schema)},
        }
        return EXCHANGES[self._stage].reply.sized(**sizes.get(self._stage, {})).sized(groups=group_count(schema))

    def _absorb_agreement(self, answers: Mapping[str, Reply | Failure]) -> None:
        for name, failure in self._agreement.absorb(answers).items():
            self._parties[name].failure = failure
        if not self._asked():
            self._stage = "done"
        elif self._agreement.schema is not None:
            self._stage = "start"

    def _absorb_sums(self, answers: Mapping[str, Reply]) -> None:
        schema = self._schema()
        for name, reply in answers.items():
            try:
                self._parties[name].take_sums(reply)
            except Exception as error:
                self._parties[name].failure = Failure.of(error)
        naming = [party for party in self._asked() if party.counts.any()]
        means = [party.sums["means"][party.counts > 0] for party in naming]
        self._spread = _fail_absurd(naming, means, [party.spread for party in naming])
        parties = self._asked()
        if parties:
            counts = np.array([party.counts for party in parties])
            most = self._settings.most_points(schema.label.kind)
            self._sizes = support_sizes(counts, min_group=self._settings.min_group, most=most)
        if not self._sizes.any():
            for party in parties:
                party.failure = Failure(Note("protocols.no-class-to-agree-on", {"least": self._settings.min_group}))
            self._stage = "done"
            return
        self._support = np.array([self._draw_support(parties, start) for start in range(self._settings.starts)])
        self._stage, self._round = "step", 1

    def _draw_support(self, parties: list[Party], start: int) -> Floats:
        """Around the clients' median class mean, as wide as their median spread: nobody's rows are needed."""
        rng = generator(self._seed, "start", start)
        blocks = []
        for code in np.flatnonzero(self._sizes):
            having = [party for party in parties if party.counts[code] >= self._settings.min_group]
            centre = np.median([party.sums["means"][code] for party in having], axis=0)
            scale = np.sqrt(np.median([party.sums["variances"][code] for party in having], axis=0))
            blocks.append(centre + scale * rng.standard_normal((self._sizes[code], len(centre))))
        return np.vstack(blocks)

    def _absorb_step(self, answers: Mapping[str, Reply]) -> None:
        taken = []
        for name, reply in answers.items():
            try:
                far = _ABSURD * self._spread
                taken.append(self._parties[name].take_step(reply, self._support, self._sizes, farthest=far))
            except Exception as error:
                self._parties[name].failure = Failure.of(error)
        shift = 0.0
        if taken:
            points, costs, counts = (np.array(part) for part in zip(*taken, strict=True))
            given = Answers(points, costs, counts)
            self._objectives.append(objective(self._settings.weights, given, self._floor))
            moved = move(self._settings.weights, self._support, self._class_of(), given, self._floor)
            shift = float(np.sqrt(((moved - self._support) ** 2).sum(axis=2).mean(axis=1)).max())
            self._support = moved
        self._round += 1
        if self._round > self._settings.rounds or shift <= self._settings.tolerance * self._spread:
            self._stage = "centroids" if self._schema().label.kind == "classes" and self._asked() else "final"
        self._stop_if_alone()

    def _absorb_centroids(self, answers: Mapping[str, Reply]) -> None:
        taken = []
        for name, reply in answers.items():
            party = self._parties[name]
            try:
                party.take_scored(reply)
                taken.append(party)
            except Exception as error:
                party.failure = Failure.of(error)
        centroids = [party.scored["centroids"][party.scored["shaped"][self._class_of()] > 0] for party in taken]
        _fail_absurd(taken, centroids, [float(np.sqrt(np.trace(party.scored["within"]))) for party in taken])
        self._stage = "final"
        self._stop_if_alone()

    def _absorb_numbers(self, answers: Mapping[str, Reply]) -> None:
        cap = self._target().cap
        for name, reply in answers.items():
            try:
                self._parties[name].take_numbers(reply, cap)
            except Exception as error:
                self._parties[name].failure = Failure.of(error)
        self._stage = "scores"
        self._stop_if_alone()

    def _stop_if_alone(self) -> None:
        if not any(party.failure is None for party in self._parties.values()):
            self._stage = "done"

    # --- the target -----------------------------------------------------------------------------------

    def _target(self) -> Target:
        """The best start's support as a measure, with the class shares of the clients that are still in."""
        counts = [party.counts for party in self._parties.values() if party.sums and party.failure is None]
        counts = counts or [np.zeros(len(self._sizes))]
        label, best = self._schema().label, self._support[self._best()]
        return make_target(best, self._sizes, np.array(counts), label, spread=self._spread)

    def _best(self) -> int:
        return int(np.argmin(self._objectives[-1])) if self._objectives else 0

    def _class_of(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self._sizes)), self._sizes)

    # --- small things ---------------------------------------------------------------------------------

    @property
    def _floor(self) -> float:
        return _FLOOR * self._spread

    def _record(self, party: Party, cap: float) -> dict[str, Any]:
        if party.failure is not None or not party.numbers:
            return {"client": party.name, "outcome": (party.failure or NO_ANSWER).outcome}
        notes = party.notes
        if not party.costs:
            notes = (*notes, Note("protocols.does-not-shape-the-target"))
        return {
            "client": party.name,
            "rows": int(party.numbers["rows"]),
            "distance": float(np.sqrt(party.numbers["cost"])),
            "closeness": 1.0 - party.numbers["relaxed"] / cap,
            "outcome": Outcome(notes=notes),
        }

    def _notes(self, schema: Schema) -> list[Note]:
        if schema.label.kind == "number" or self._sizes.all() or not self._sizes.any():
            return []
        lost = [name for name, size in zip(schema.label.classes, self._sizes, strict=True) if not size]
        return [Note("protocols.classes-without-shape", {"classes": tuple(lost)})]

    def _schema(self) -> Schema:
        if self._agreement.schema is None:
            raise ProtocolError("protocols.no-schema-yet")
        return self._agreement.schema


def _fail_absurd(parties: list[Party], points: list[Floats], spreads: list[float]) -> float:
    """Take out clients whose answers are finite and yet nowhere near the others'; returns the usual spread."""
    if not parties:
        return 1.0
    usual = float(np.quantile(spreads, 0.5, method="lower")) or 1.0
    centre = np.median(np.vstack(points), axis=0)
    for party, own, spread in zip(parties, points, spreads, strict=True):
        reach = max(float(np.abs(own - centre).max(initial=0.0)), spread)
        if reach > _ABSURD * usual:
            far = {"reach": float(reach), "usual": float(usual)}
            party.failure = Failure(Note("protocols.classes-too-large", far))
    return usual
