"""The server of the coalition protocol: collects groups, or lets a consensus finish, and then plays the game."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fedbary.data.table import Table
from fedbary.errors import ProtocolError, SettingsError
from fedbary.games import Estimate, Game, MaxPermutations, StandardErrorBelow, exact_shapley, permutation_shapley
from fedbary.notes import Note
from fedbary.protocols.coalition import Coalition
from fedbary.protocols.coalition.forms import EXCHANGES
from fedbary.protocols.coalition.groups import Groups, encoded_width
from fedbary.protocols.coalition.judge import Judge, consensus_judge
from fedbary.protocols.coalition.stage import Stage, label_points
from fedbary.protocols.coalition.utilities import (
    Utility,
    coverage,
    mean_of,
    ridge_accuracy,
    soft_accuracy,
    wasserstein_gain,
)
from fedbary.protocols.consensus.server import ConsensusServer
from fedbary.protocols.consensus.target import Target
from fedbary.protocols.forms import fitting_replies
from fedbary.protocols.host import ALONE, Host
from fedbary.protocols.messages import (
    Failure,
    Message,
    Reply,
    State,
    below,
    under,
)
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.sketch.server import SketchServer
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.options import Space
from fedbary.space.schema import Schema
from fedbary.valuation.contribution import client_frame, outcomes_of
from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import HISTORY_COLUMNS, Valuation, with_outcomes
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scores import ClientScores

# Permutations go on until every standard error is below this part of v(N) − v(∅).
_SMALL_ERROR = 0.01
# Values below this are what rounding leaves of zero; utilities are accuracies, or costs of that order and more.
_ZERO = 1e-12


class CoalitionServer:
    """Rides on a sketch server's message, or on a whole consensus."""

    def __init__(
        self,
        settings: Coalition,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,
        seed: int,
        host: Host = ALONE,
    ) -> None:
        self._settings, self._names, self._space = settings, list(clients), space
        self._seed, self._host = derived_seed(seed, "coalitions") % 2**31, host
        rides = settings.consensus if reference is None else settings.sketch
        self._rides: SketchServer | ConsensusServer = rides.server(
            clients, reference, space, rules=rules, seed=seed, host=host
        )
        self._require_classes()
        self._stage: Stage | None = None
        if reference is not None and isinstance(self._rides, SketchServer):
            self._stage = Stage.fit(reference, self._rides.schema, shrinkage=space.shrinkage, seed=self._seed)
        self._groups: dict[str, Groups] = {}
        self._rows: dict[str, int] = {}
        self._failures: dict[str, Failure] = {}
        self._known: dict[str, tuple[float, float]] = {}  # distance and quality, made once
        self._done = False

    def tasks(self) -> Mapping[str, Message]:
        """The inner protocol's messages."""
        return {} if self._done else self._rides.tasks()

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a client whose groups make no sense fails as a whole, and nobody else."""
        if isinstance(self._rides, ConsensusServer):
            self._rides.absorb(replies)
            self._require_classes()
            return
        form = EXCHANGES["sketch"].reply.sized(features=encoded_width(self._rides.schema))
        for name, reply in fitting_replies(self._names, replies, form, number=0).items():
            try:
                if isinstance(reply, Failure):
                    self._failures[name] = reply
                else:
                    self._take(name, reply, self._rides.schema)
            except Exception as error:
                self._failures[name] = Failure.of(error)
        self._done = True

    def so_far(self) -> Mapping[str, float]:
        """Distances by the groups, or those of the consensus."""
        if isinstance(self._rides, ConsensusServer):
            return self._rides.so_far()
        return {name: self._compared(name)[0] for name, groups in self._groups.items() if len(groups.points)}

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        if isinstance(self._rides, ConsensusServer):
            return self._rides.state()
        state: dict[str, np.ndarray] = {"done": np.array(self._done)}
        for place, name in enumerate(self._names):
            if name in self._groups:
                part = {**self._groups[name].to_arrays(), "rows": np.array(self._rows[name])}
                state |= under(f"{place}.", part)
            if name in self._failures:
                state[f"{place}.failure"] = self._failures[name].to_array()
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        if isinstance(self._rides, ConsensusServer):
            self._rides.restore(state)
            return
        self._done = bool(state["done"])
        for place, name in enumerate(self._names):
            part = below(state, f"{place}.")
            if "rows" in part:
                self._groups[name], self._rows[name] = Groups.from_state(part), int(part["rows"])
            if "failure" in part:
                self._failures[name] = Failure.from_array(part["failure"])

    def result(self) -> Valuation:
        """Clients with shares by what each adds to the others."""
        result = self._with_reference() if self._stage is not None else self._without_reference()
        play = self._play(result)
        if play is None:
            return result
        started = time.perf_counter()
        players = [name for name in self._names if name in play.groups]  # not in the order of replies
        self._host.busy(f"playing coalitions of {len(players)} clients")
        found = shapley(players, play.utility(self._settings.utility, players), self._settings, seed=self._seed)
        scores = _scores(self._settings.name, found, time.perf_counter() - started).among(tuple(self._names))
        silent = {name for name in players if not len(play.groups[name].points)}
        return _with_scores(result, scores, silent)

    def _take(self, name: str, reply: Reply, schema: Schema) -> None:
        most, least = self._settings.points_per_class, self._settings.min_group
        self._groups[name] = Groups.from_reply(reply, schema, most=most, min_group=least)
        self._rows[name] = int(reply.scalars["rows"])

    def _require_classes(self) -> None:
        rides = self._rides
        kind = rides.schema.label.kind if isinstance(rides, SketchServer) else rides.label_kind
        if kind == "number":
            raise SettingsError("protocols.needs-classes")

    def _with_reference(self) -> Valuation:
        """Distances and quality by the groups; there is no interval, as the scatter is known in sum only."""
        import pandas as pd

        if not self._done:
            raise ProtocolError("protocols.not-finished")
        assert isinstance(self._rides, SketchServer)
        rides = self._rides
        records = [self._record(name) for name in self._names]
        return Valuation(
            clients=client_frame(records, spread=rides.spread),
            outcomes=outcomes_of(records),
            history=pd.DataFrame(columns=list(HISTORY_COLUMNS)),
            settings=self._told_settings("sketch") | {"sketch_points": len(rides.sketch.weights)},
            schema=rides.schema,
            target=rides.sketch.points,
            notes=rides.schema.notes,
        )

    def _record(self, name: str) -> dict[str, Any]:
        if name in self._failures:
            return {"client": name, "outcome": self._failures[name].outcome}
        record: dict[str, Any] = {"client": name, "rows": self._rows[name], "outcome": Outcome()}
        if len(self._groups[name].points):
            record["distance"], record["closeness"] = self._compared(name)
        return record

    def _compared(self, name: str) -> tuple[float, float]:
        """A client's distance and quality, computed once."""
        if name not in self._known:
            assert self._stage is not None
            assert isinstance(self._rides, SketchServer)
            self._known[name] = self._stage.distance(self._groups[name], self._rides.sketch)
        return self._known[name]

    def _without_reference(self) -> Valuation:
        result = self._rides.result()
        return replace(result, settings=result.settings | self._told_settings("consensus"))

    def _told_settings(self, base_protocol: str) -> dict[str, Any]:
        own = {"protocol": self._settings.name, **asdict(self._settings), "base_protocol": base_protocol}
        return own | {"space": asdict(self._space)}

    def _play(self, result: Valuation) -> _Play | None:
        """What the game is played with; None where nobody is left."""
        schema = result.schema
        if schema is None:
            return None
        if self._stage is not None:
            assert isinstance(self._rides, SketchServer)
            groups = {name: self._stage.played(own) for name, own in self._groups.items()}
            placed = {name: self._stage.placed(own) for name, own in self._groups.items()}
            return _Play(groups, placed, self._stage.judge, self._rides.sketch, schema) if groups else None
        assert isinstance(self._rides, ConsensusServer)
        agreed = self._rides.agreed()
        if agreed is None:
            return None
        groups = {name: Groups(*parts) for name, parts in agreed.averages.items()}
        judge = consensus_judge(agreed.support, agreed.classes, agreed.variances, seed=self._seed)
        return _Play(groups, groups, judge, agreed.target, schema)


@dataclass(frozen=True, eq=False)
class _Play:
    """Groups in the coordinates of the game and in those of the target, the judge, and the target."""

    groups: Mapping[str, Groups]
    placed: Mapping[str, Groups]
    judge: Judge
    target: SketchPoints | Target
    schema: Schema

    def utility(self, kind: str, players: Sequence[str]) -> Utility:
        """The utility of this name, for these players."""
        if kind in ("mean", "ridge", "soft"):
            members = [self.groups[name] for name in players]
            return accuracy_utility(kind, members, self.judge, len(self.schema.label.classes))
        here, labels = [self.placed[name] for name in players], label_points(self.schema)
        if kind == "wasserstein":
            return wasserstein_gain(here, labels, self.target.points, self.target.weights)
        return coverage(here, labels, self.target.points, self.target.weights, self.target.cap)


def accuracy_utility(kind: str, clients: Sequence[Groups], judge: Judge, classes: int) -> Utility:
    """Accuracy by ``ridge`` regression, by the ``soft`` minimum, or their ``mean``."""
    if kind == "mean":
        return mean_of(ridge_accuracy(clients, judge, classes), soft_accuracy(clients, judge, classes))
    accuracy = ridge_accuracy if kind == "ridge" else soft_accuracy
    return accuracy(clients, judge, classes)


def shapley(players: Sequence[str], utility: Utility, settings: Coalition, *, seed: int) -> Estimate:
    """All coalitions for few players, permutations for many."""
    game = Game(players, utility)
    if len(players) <= settings.exact_up_to:
        return exact_shapley(game)
    stop = StandardErrorBelow(_SMALL_ERROR, relative=True) | MaxPermutations(settings.permutations)
    return permutation_shapley(game, seed=seed, stop=stop)


def _scores(name: str, found: Estimate, seconds: float) -> ClientScores:
    values = np.where(np.abs(found.values) < _ZERO, 0.0, found.values)
    return ClientScores(
        name,
        found.players,
        values,
        found.standard_errors,
        evaluations=found.evaluations,
        seconds=seconds,
        converged=found.converged,
        notes=found.notes,
    )


def _with_scores(result: Valuation, scores: ClientScores, silent: set[str]) -> Valuation:
    notes = [*result.notes, *scores.notes]
    if not (np.nan_to_num(scores.values) > 0).any():
        notes.append(Note("protocols.nothing-to-share"))
    outcomes = {
        name: outcome.with_note(Note("protocols.brings-no-group")) if name in silent else outcome
        for name, outcome in result.outcomes.items()
    }
    clients = result.clients.assign(share=scores.shares, share_low=np.nan, share_high=np.nan)
    result = replace(result, clients=clients, scores=scores, notes=tuple(notes))
    return with_outcomes(result, outcomes, flagged={})
