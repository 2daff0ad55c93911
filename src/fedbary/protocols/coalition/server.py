"""The server of the coalition protocol: lets the protocol it rides on finish, then plays the game."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import FedbaryError, SettingsError
from fedbary.games import Estimate, Game, MaxPermutations, StandardErrorBelow, exact_shapley, permutation_shapley
from fedbary.protocols.coalition.groups import Groups
from fedbary.protocols.coalition.judge import Judge, consensus_judge, reference_judge
from fedbary.protocols.coalition.settings import NEEDS_CLASSES, Coalition
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
from fedbary.protocols.messages import ALONE, Failure, Host, Message, Reply, State
from fedbary.protocols.randomness import derived_seed
from fedbary.protocols.sketch.server import SketchServer
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.protocols.state import below, under
from fedbary.space import Schema, Space
from fedbary.space.labels import label_coordinates
from fedbary.valuation.result import Valuation
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scores import ClientScores

# Permutations go on until every standard error is below this part of v(N) − v(∅).
_SMALL_ERROR = 0.01

_SILENT = "too few rows in every class to be told of, so it adds nothing to a coalition"


class CoalitionServer:
    """Carries the inner protocol's messages; with a reference it takes the groups out of the answers."""

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
        self._settings, self._names, self._reference = settings, list(clients), reference
        self._seed, self._host = seed, host
        rides = settings.consensus if reference is None else settings.sketch
        self._rides: SketchServer | ConsensusServer = rides.server(
            clients, reference, space, rules=rules, seed=seed, host=host
        )
        self._groups: dict[str, Groups] = {}
        self._require_classes()

    def tasks(self) -> Mapping[str, Message]:
        """The inner protocol's messages."""
        return self._rides.tasks()

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers; a client whose groups make no sense fails as a whole."""
        if isinstance(self._rides, SketchServer):
            replies = {name: self._checked(name, reply, self._rides.schema) for name, reply in replies.items()}
        self._rides.absorb(replies)
        self._require_classes()

    def state(self) -> State:
        """Arrays from which `restore` goes on."""
        state = under("on.", self._rides.state())
        for place, name in enumerate(self._names):
            if name in self._groups:
                state |= under(f"{place}.", self._groups[name].to_arrays())
        return state

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._rides.restore(below(state, "on."))
        for place, name in enumerate(self._names):
            if part := below(state, f"{place}."):
                self._groups[name] = Groups.from_state(part)

    def result(self) -> Valuation:
        """The inner protocol's result, with shares by what each client adds to the others."""
        import pandas as pd

        result = self._rides.result()
        settings = result.settings | {"rides_on": result.settings["protocol"], "protocol": self._settings.name}
        result = replace(result, settings=settings | asdict(self._settings))
        stage = self._stage(result)
        if stage is None:
            return result
        started = time.perf_counter()
        players = [name for name in stage.groups if name not in result.failed]
        self._host.tell(f"playing coalitions of {len(players)} clients")
        members = [stage.groups[name] for name in players]
        utility = chosen_utility(self._settings.utility, members, stage.judge, stage.target, stage.schema)
        found = shapley(players, utility, self._settings, seed=stage.seed)
        scores = ClientScores(
            self._settings.name,
            found.players,
            found.values,
            found.standard_errors,
            evaluations=found.evaluations,
            seconds=time.perf_counter() - started,
            converged=found.converged,
            notes=found.notes,
        ).among(tuple(self._names))
        notes = [*result.notes, *scores.notes]
        if not (found.values > 0).any():
            notes.append("no client adds anything to the others, so there is nothing to share")
        silent = {name for name, groups in zip(players, members, strict=True) if not len(groups.points)}
        status = [
            f"{text}; {_SILENT}" if name in silent else text
            for name, text in zip(result.clients["client"], result.clients["status"], strict=True)
        ]
        clients = result.clients.assign(
            share=scores.shares, share_low=np.nan, share_high=np.nan, status=pd.array(status, dtype="string")
        )
        return replace(result, clients=clients, scores=scores, notes=tuple(notes))

    def _require_classes(self) -> None:
        rides = self._rides
        kind = rides.schema.label.kind if isinstance(rides, SketchServer) else rides.label_kind
        if kind == "number":
            raise SettingsError(NEEDS_CLASSES)

    def _checked(self, name: str, reply: Reply | Failure, schema: Schema) -> Reply | Failure:
        if isinstance(reply, Failure):
            return reply
        most, least = self._settings.points_per_class, self._settings.min_group
        try:
            self._groups[name] = Groups.from_reply(reply, schema, most=most, min_group=least)
        except FedbaryError as error:
            return Failure(str(error))
        return reply

    def _stage(self, result: Valuation) -> _Stage | None:
        """What the game is played with; None where nobody was valued."""
        schema = result.schema
        if schema is None or len(result.failed) == len(self._names):
            return None
        seed = derived_seed(self._seed, "coalitions") % 2**31
        if isinstance(self._rides, SketchServer):
            assert self._reference is not None
            judge = reference_judge(self._reference, schema, seed=seed)
            return _Stage(self._groups, judge, self._rides.sketch, schema, seed)
        agreed = self._rides.agreed()
        if agreed is None:
            return None
        groups = {name: Groups(*parts) for name, parts in agreed.averages.items()}
        judge = consensus_judge(agreed.support, agreed.classes, agreed.variances, seed=seed)
        return _Stage(groups, judge, agreed.target, schema, seed)


@dataclass(frozen=True, eq=False)
class _Stage:
    """Everything that a game is played with."""

    groups: Mapping[str, Groups]
    judge: Judge
    target: SketchPoints | Target
    schema: Schema
    seed: int


def chosen_utility(
    kind: str, clients: Sequence[Groups], judge: Judge, target: SketchPoints | Target, schema: Schema
) -> Utility:
    """The utility of this name."""
    if kind == "wasserstein":
        return wasserstein_gain(clients, _label_points(schema), target.points, target.weights)
    if kind == "coverage":
        return coverage(clients, _label_points(schema), target.points, target.weights, target.cap)
    return accuracy_utility(kind, clients, judge, schema)


def accuracy_utility(kind: str, clients: Sequence[Groups], judge: Judge, schema: Schema) -> Utility:
    """Accuracy by ``ridge`` regression, by the ``soft`` minimum, or their ``mean``."""
    known = len(schema.label.classes)
    if kind == "mean":
        return mean_of(ridge_accuracy(clients, judge, known), soft_accuracy(clients, judge, known))
    accuracy = ridge_accuracy if kind == "ridge" else soft_accuracy
    return accuracy(clients, judge, known)


def shapley(players: Sequence[str], utility: Utility, settings: Coalition, *, seed: int) -> Estimate:
    """All coalitions for few players, permutations for many."""
    game = Game(players, utility)
    if len(players) <= settings.exact_up_to:
        return exact_shapley(game)
    stop = StandardErrorBelow(_SMALL_ERROR, relative=True) | MaxPermutations(settings.permutations)
    return permutation_shapley(game, seed=seed, stop=stop)


def _label_points(schema: Schema) -> NDArray[np.float64]:
    """Label coordinates of every class of the schema."""
    names = np.array(schema.label.classes)
    return label_coordinates(names, np.zeros((len(names), 0)), np.full(len(names), 1.0), schema.label)
