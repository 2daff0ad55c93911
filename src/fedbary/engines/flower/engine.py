"""`FlowerEngine`: carries a protocol's messages over a Flower grid."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flwr.app import RecordDict
from flwr.serverapp import Grid

from fedbary.engines.flower.codec import pack_message
from fedbary.engines.flower.exchange import Patience, exchange
from fedbary.engines.flower.node_names import NodeNames
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import ProtocolError, SettingsError
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import FINISH, Asked
from fedbary.protocols.messages import Failure, Message, Reply, State, array_text, text_array
from fedbary.valuation.result import Valuation, with_outcomes

if TYPE_CHECKING:
    from flwr.proto.node_pb2 import NodeInfo


@dataclass(frozen=True)
class Attendance:
    """For how many nodes to wait, and how long; ``least`` of them will do when the deadline has passed."""

    wanted: int
    least: int | None = None
    deadline: float = 120.0


class FlowerEngine(Engine):
    """Runs a protocol with the nodes of a Flower federation.

    Parameters
    ----------
    grid : Grid
        Flower's, from the server app.
    attendance : Attendance
        For how many nodes to wait.
    folder : path
        For ``events.jsonl`` and a checkpoint after every round.
    resume : bool
        Go on from the checkpoint in ``folder``, if there is one, with the nodes that it names.
    patience : Patience
        Deadlines and retries.
    simulation : mapping
        What simulated nodes make their rows of.
    """

    def __init__(
        self,
        grid: Grid,
        attendance: Attendance,
        *,
        folder: Path,
        resume: bool = False,
        patience: Patience | None = None,
        simulation: Mapping[str, Any] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.resume = folder, resume
        self._grid, self._attendance, self._simulation = grid, attendance, dict(simulation or {})
        self.networked = not simulation  # simulated nodes are one party's
        self._patience = patience or Patience()
        self._session = secrets.token_hex(16)
        self._settings = ""
        self._row_values_after: frozenset[str] = frozenset()
        self._nodes: list[int] = []
        self._steps: dict[int, int] = {}
        self._names = NodeNames(simulated=bool(simulation))
        self._flagged: dict[int, int] = {}
        self._failed: set[int] = set()

    def clients(self, work: Work, state: State, observer: Observer = SILENT) -> list[str]:
        """Wait for the nodes; a resumed run waits for its own.

        Those of a resumed run that do not come are asked all the same, so that they are named.
        """
        if work.tables is not None:
            raise SettingsError("engines.rows-are-at-the-nodes")
        self._settings = Asked(work.protocol, work.rules, self._simulation).to_json()
        self._row_values_after = work.protocol.row_values_after
        if state:
            self._resume_from(state)
            self._wait(lambda online: set(self._nodes) - self._failed <= online)
        else:
            self._nodes = self._attending(observer)
        return [str(node) for node in self._nodes]

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """Ask the nodes; what is missing or makes no sense is a `Failure`."""
        known = [self.label(name) for name in tasks if self._names.is_final(int(name))]
        observer.asked(next(iter(tasks.values())).kind, known, total=len(tasks))
        packed: dict[int, tuple[RecordDict, Envelope]] = {}
        for name, message in tasks.items():
            step = self._steps.get(int(name), 0) + 1
            head = message.kind, message.round, step
            envelope = Envelope(self._session, *head, settings=self._settings, nonce=secrets.token_hex(16))
            packed[int(name)] = pack_message(message, envelope), envelope

        def on_answer(node: int, reply: Reply | Failure, envelope: Envelope) -> None:
            self._names.claim(node, envelope.name)
            if isinstance(reply, Reply):  # only an answer moves a client on
                self._steps[node] = envelope.step
            else:
                self._failed.add(node)
            if envelope.flagged is not None:
                self._flagged[node] = envelope.flagged
            observer.answered(self.label(str(node)), reply)

        answers = exchange(self._grid, packed, self._patience, on_answer=on_answer)
        return {name: answers[int(name)] for name in tasks}

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:
        """Row values stay with the nodes; how many rows are flagged comes from those that share it."""
        valued = [name for name, outcome in result.outcomes.items() if outcome.ok]
        if valued and not self._row_values_after:
            self.exchange({name: Message(FINISH, 2**30) for name in valued}, observer)
        rows = result.clients.set_index("client")["rows"].dropna().to_dict()
        flagged = {str(node): count for node, count in self._flagged.items() if count <= rows.get(str(node), -1)}
        outcomes = {
            name: replace(outcome, notes=(*outcome.notes, *self._names.claim_notes(int(name))))
            for name, outcome in result.outcomes.items()
        }
        result = with_outcomes(result, outcomes, flagged=flagged)
        result = replace(result, clients=result.clients.assign(node=result.clients["client"]))
        labels = {name: self.label(name) for name in outcomes}
        nodes = {label: int(name) for name, label in labels.items()}
        place = f"the output folder of its owner's node, under results/{self._session}"
        return replace(renamed(result, labels), settings=result.settings | {"nodes": nodes}, _rows_at=place)

    def state(self) -> State:
        """Which nodes take part, and how far each is."""
        content = {
            "session": self._session,
            "nodes": self._nodes,
            "steps": list(self._steps.items()),
            "names": self._names.to_json(),
            "flagged": list(self._flagged.items()),
            "failed": sorted(self._failed),
        }
        return {"flower": text_array(json.dumps(content))}

    def label(self, client: str) -> str:
        """The name under which the node was registered; in a simulation what it calls itself."""
        return self._names.label(int(client))

    def facts(self) -> dict[str, Any]:
        """The engine, its version, whether its nodes are other parties, and who did not come."""
        absent = max(self._attendance.wanted - len(self._nodes), 0)
        return {"engine": "flower", "flwr": version("flwr"), "networked": self.networked, "absent_nodes": absent}

    def _attending(self, observer: Observer) -> list[int]:
        wanted, least = self._attendance.wanted, self._attendance.least
        found = self._wait(lambda online: len(online) >= wanted)
        if len(found) < (wanted if least is None else least):
            deadline = self._attendance.deadline
            raise ProtocolError("engines.too-few-nodes", came=len(found), wanted=wanted, deadline=deadline)
        nodes = sorted(found)[:wanted]
        self._names.register(found[node] for node in nodes)
        observer.joined([str(node) for node in nodes], wanted)
        return nodes

    def _wait(self, enough: Callable[[Set[int]], bool]) -> dict[int, NodeInfo]:
        """Nodes that are online, once there are enough or the deadline has passed.

        Flower fails a message at once whose node is not online, also right after the server's restart.
        """
        end = time.monotonic() + self._attendance.deadline
        while True:
            found = {node.node_id: node for node in self._grid.get_nodes()}
            if enough(found.keys()) or time.monotonic() >= end:
                return found
            time.sleep(self._patience.poll)

    def _resume_from(self, state: State) -> None:
        content = json.loads(array_text(state["flower"]))
        self._session, self._nodes, self._steps = content["session"], content["nodes"], dict(content["steps"])
        self._names.restore(content["names"])
        self._flagged, self._failed = dict(content["flagged"]), set(content["failed"])


def renamed(result: Valuation, called: Mapping[str, str]) -> Valuation:
    """The result with other names of clients."""
    scores = result.scores
    if scores is not None:
        scores = replace(scores, clients=tuple(called[name] for name in scores.clients))
    clients, history = (
        frame.assign(client=frame["client"].map(called).astype(frame["client"].dtype))
        for frame in (result.clients, result.history)
    )
    outcomes = {called[name]: outcome for name, outcome in result.outcomes.items()}
    return replace(result, clients=clients, history=history, scores=scores, outcomes=outcomes)
