"""`NetworkedEngine`: what runs over all networks have in common; an engine adds who is there, and how to ask."""

from __future__ import annotations

import json
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from fedbary.engines.attendance import Attendance
from fedbary.engines.node_names import NodeNames
from fedbary.engines.packed import Packed, packed_message, require_answer_to, unpacked_reply
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import ProtocolError, SettingsError
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import FINISH, Asked
from fedbary.notes import Note
from fedbary.protocols.messages import Failure, Message, Reply, State, array_text, text_array
from fedbary.valuation.outcome import Status
from fedbary.valuation.result import Valuation, with_outcomes

OnAnswer = Callable[[str, Packed | Failure], None]
# Messages on their way at a time: large ones for many clients would fill the memory.
WAVE = 200


@dataclass(frozen=True)
class Patience:
    """How long to wait: for an answer, between looks, and how often to ask again a node that said nothing."""

    timeout: float = 600.0
    poll: float = 0.2
    retries: int = 1


class NetworkedEngine(Engine):
    """Runs a protocol with nodes elsewhere, whose ids are the network's and whose names are those of registration.

    Parameters
    ----------
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

    name: ClassVar[str]

    def __init__(
        self,
        attendance: Attendance,
        *,
        folder: Path,
        resume: bool = False,
        patience: Patience | None = None,
        simulation: Mapping[str, Any] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.resume = folder, resume
        self._attendance, self._simulation = attendance, dict(simulation or {})
        self.networked = not simulation  # simulated nodes are one party's
        self.patience = patience or Patience()
        self._session = secrets.token_hex(16)
        self._settings = ""
        self._row_values_after: frozenset[str] = frozenset()
        self._nodes: list[str] = []
        self._steps: dict[str, int] = {}
        self._names = NodeNames(simulated=bool(simulation))
        self._flagged: dict[str, int] = {}
        self._failed: set[str] = set()

    @abstractmethod
    def online(self) -> Mapping[str, str]:
        """The ids of nodes that can be asked now, with the names of their registration, empty where there is none."""

    @abstractmethod
    def deliver(self, messages: Mapping[str, Packed], on_answer: OnAnswer) -> None:
        """Ask nodes once, all at the same time, and say what each answered as it comes.

        What the network itself knows to have failed is a `Failure`. Returns when all have answered or
        ``patience.timeout`` is over; of a node that said nothing, nothing is said.
        """

    def address(self, node: str) -> int | str:
        """What the network calls a node, for those who want to reach it afterwards."""
        return node

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
        return list(self._nodes)

    def exchange(self, tasks: Mapping[str, Message], observer: Observer = SILENT) -> dict[str, Reply | Failure]:
        """Ask the nodes; what is missing or makes no sense is a `Failure`.

        A message may be repeated, because a node answers the same one with the same answer.
        """
        known = [self.label(name) for name in tasks if self._names.is_final(name)]
        observer.asked(next(iter(tasks.values())).kind, known, total=len(tasks))
        asked: dict[str, Envelope] = {}
        packed: dict[str, Packed] = {}
        for name, message in tasks.items():
            head = message.kind, message.round, self._steps.get(name, 0) + 1
            asked[name] = Envelope(self._session, *head, settings=self._settings, nonce=secrets.token_hex(16))
            packed[name] = packed_message(message, asked[name])
        answers: dict[str, Reply | Failure] = {}

        def on_answer(node: str, found: Packed | Failure) -> None:
            if node in asked and node not in answers:
                answers[node], envelope = _read(found, asked[node])
                self._note(node, answers[node], envelope)
                observer.answered(self.label(node), answers[node])

        nodes = list(packed)
        for first in range(0, len(nodes), WAVE):
            silent = nodes[first : first + WAVE]
            for _ in range(self.patience.retries + 1):
                self.deliver({node: packed[node] for node in silent}, on_answer)
                silent = [node for node in silent if node not in answers]
                if not silent:
                    break
            for node in silent:
                why = Note("engines.no-answer", {"seconds": self.patience.timeout})
                on_answer(node, Failure(why, Status.SILENT))
        return {name: answers[name] for name in tasks}

    def finish(self, result: Valuation, observer: Observer = SILENT) -> Valuation:
        """Row values stay with the nodes; how many rows are flagged comes from those that share it."""
        valued = [name for name, outcome in result.outcomes.items() if outcome.ok]
        if valued and not self._row_values_after:
            self.exchange({name: Message(FINISH, 2**30) for name in valued}, observer)
        rows = result.clients.set_index("client")["rows"].dropna().to_dict()
        flagged = {node: count for node, count in self._flagged.items() if count <= rows.get(node, -1)}
        outcomes = {
            name: replace(outcome, notes=(*outcome.notes, *self._names.claim_notes(name)))
            for name, outcome in result.outcomes.items()
        }
        result = with_outcomes(result, outcomes, flagged=flagged)
        result = replace(result, clients=result.clients.assign(node=result.clients["client"]))
        labels = {name: self.label(name) for name in outcomes}
        nodes = {label: self.address(name) for name, label in labels.items()}
        place = f"the output folder of its owner's node, under results/{self._session}"
        return replace(renamed(result, labels), settings=result.settings | {"nodes": nodes}, _rows_at=place)

    def state(self) -> State:
        """Which nodes take part, and how far each is."""
        content = {
            "session": self._session,
            "nodes": self._nodes,
            "steps": self._steps,
            "names": self._names.to_json(),
            "flagged": self._flagged,
            "failed": sorted(self._failed),
        }
        return {"network": text_array(json.dumps(content))}

    def label(self, client: str) -> str:
        """The name under which the node was registered; in a simulation what it calls itself."""
        return self._names.label(client)

    def facts(self) -> dict[str, Any]:
        """The engine, whether its nodes are other parties, and how many did not come."""
        absent = max(self._attendance.wanted - len(self._nodes), 0)
        return {"engine": self.name, "networked": self.networked, "absent_nodes": absent}

    def _note(self, node: str, answer: Reply | Failure, envelope: Envelope) -> None:
        self._names.claim(node, envelope.name)
        if isinstance(answer, Reply):  # only an answer moves a client on
            self._steps[node] = envelope.step
        else:
            self._failed.add(node)
        if envelope.flagged is not None:
            self._flagged[node] = envelope.flagged

    def _attending(self, observer: Observer) -> list[str]:
        wanted, least = self._attendance.wanted, self._attendance.least
        found = self._wait(lambda online: len(online) >= wanted)
        if len(found) < (wanted if least is None else least):
            deadline = self._attendance.deadline
            raise ProtocolError("engines.too-few-nodes", came=len(found), wanted=wanted, deadline=deadline)
        nodes = sorted(found, key=lambda node: (len(node), node))[:wanted]
        self._names.register({node: found[node] for node in nodes})
        observer.joined(nodes, wanted)
        return nodes

    def _wait(self, enough: Callable[[Set[str]], bool]) -> Mapping[str, str]:
        """Nodes that are online, once there are enough or the deadline has passed."""
        end = time.monotonic() + self._attendance.deadline
        while True:
            found = self.online()
            if enough(found.keys()) or time.monotonic() >= end:
                return found
            time.sleep(self.patience.poll)

    def _resume_from(self, state: State) -> None:
        content = json.loads(array_text(state["network"]))
        self._session, self._nodes, self._steps = content["session"], content["nodes"], content["steps"]
        self._names.restore(content["names"])
        self._flagged, self._failed = content["flagged"], set(content["failed"])


def _read(found: Packed | Failure, asked: Envelope) -> tuple[Reply | Failure, Envelope]:
    if isinstance(found, Failure):
        return found, asked
    try:
        answer, envelope = unpacked_reply(found)
        require_answer_to(asked, envelope, answer)
        return answer, envelope
    except Exception as error:  # whatever a node sends must not stop the others
        return Failure.of(error), asked


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
