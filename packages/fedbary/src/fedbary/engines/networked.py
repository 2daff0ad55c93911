"""`NetworkedEngine`: what runs over all networks have in common; an engine adds who is there, and how to ask."""

from __future__ import annotations

import json
import secrets
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from fedbary.engines.nodes import Attendance, NodeNames, registered_name
from fedbary.engines.packed import Packed, packed_message, require_answer_to, unpacked_reply
from fedbary.engines.run import SILENT, Engine, Observer, Work
from fedbary.errors import SettingsError
from fedbary.forms import array_text, text_array
from fedbary.guard.node import FINISH, Envelope, Question
from fedbary.notes import Fact, Note
from fedbary.protocols.messages import Failure, Message, Reply, State
from fedbary.valuation.outcome import Status
from fedbary.valuation.result import Valuation, with_outcomes

OnAnswer = Callable[[str, Packed | Failure], None]
# Messages on their way at a time: large ones for many clients would fill the memory.
WAVE = 200
# Beyond so many, a sentence says how many nodes it is about instead of their names.
_MOST_NAMES = 20


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
        For whom to wait.
    folder : path
        For ``events.jsonl`` and a checkpoint after every round.
    resume : bool
        Go on from the checkpoint in ``folder``, if there is one, with the nodes that it names.
    patience : Patience
        Deadlines and retries.
    simulation : mapping
        What simulated nodes make their rows of.
    run_id : str, optional
        What the network calls the run.
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
        run_id: str | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.resume, self.run_id = folder, resume, run_id
        self._attendance, self._simulation = attendance, dict(simulation or {})
        self.networked = not simulation  # simulated nodes are one party's
        self.patience = patience or Patience()
        self._session = secrets.token_hex(16)
        self._settings = ""
        self._row_values_after: frozenset[str] = frozenset()
        self._nodes: list[str] = []
        self._absent: tuple[str, ...] | int = ()
        self._left_out: list[str] = []
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

    @property
    def session(self) -> str:
        """What the nodes call the run, and their folders of its results."""
        return self._session

    def clients(self, work: Work, state: State, observer: Observer = SILENT) -> list[str]:
        """Wait for the nodes; a resumed run waits for its own.

        Those of a resumed run that do not come are asked all the same, so that they are named.
        """
        if work.tables is not None:
            raise SettingsError("engines.rows-are-at-the-nodes")
        self._settings = Question(work.protocol, work.rules, self._simulation).to_json()
        self._row_values_after = work.protocol.row_values_after
        if state:
            self._resume_from(state)
            self._wait(lambda online, _: set(self._nodes) - self._failed <= online.keys())
        else:
            self._call_the_roll(observer)
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
        late = self._late()
        return replace(
            renamed(result, labels),
            settings=result.settings | {"nodes": nodes, "late": late},
            notes=(*result.notes, *self._attendance_notes(late)),
            _rows_at=place,
        )

    def state(self) -> State:
        """Which nodes take part, and how far each is."""
        content = {
            "session": self._session,
            "nodes": self._nodes,
            "absent": self._absent,
            "left_out": self._left_out,
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
        """The engine, whether its nodes are other parties, and who is absent or was left out."""
        absent = self._absent if isinstance(self._absent, int) else list(self._absent)
        left_out = [self.label(node) for node in self._left_out]
        return {"engine": self.name, "networked": self.networked, "absent": absent, "left_out": left_out}

    def _note(self, node: str, answer: Reply | Failure, envelope: Envelope) -> None:
        self._names.claim(node, envelope.name)
        if isinstance(answer, Reply):  # only an answer moves a client on
            self._steps[node] = envelope.step
        else:
            self._failed.add(node)
        if envelope.flagged is not None:
            self._flagged[node] = envelope.flagged

    def _call_the_roll(self, observer: Observer) -> None:
        """Wait until everybody is there who is waited for, or the deadline has passed."""
        rule, before = self._attendance, -1

        def complete(online: Mapping[str, str], unchanged: float) -> bool:
            nonlocal before
            found = rule.attending(online)
            if len(found.nodes) > before and not rule.is_complete(found, rule.settle):
                observer.joined(_called(found.nodes), len(found.nodes) + found.absent_count)
            before = len(found.nodes)
            return rule.is_complete(found, unchanged)

        found = rule.attending(self._wait(complete))
        rule.check(found)
        self._nodes, self._left_out, self._absent = list(found.nodes), list(found.left_out), found.absent
        self._names.register({**found.nodes, **found.left_out})
        labels = [self.label(node) for node in self._nodes]
        observer.joined(labels, len(labels) + found.absent_count, self._attendance_notes())

    def _wait(self, enough: Callable[[Mapping[str, str], float], bool]) -> Mapping[str, str]:
        """Nodes that are online, once there are enough or the deadline has passed.

        ``enough`` hears who is online, and how many seconds ago the last new one came.
        """
        begun = news = time.monotonic()
        seen: set[str] = set()
        while True:
            found, now = self.online(), time.monotonic()
            if not found.keys() <= seen:
                seen, news = seen | found.keys(), now
            if enough(found, now - news) or now - begun >= self._attendance.deadline:
                return found
            time.sleep(self.patience.poll)

    def _late(self) -> list[str]:
        """Nodes that came when the run had begun."""
        with suppress(Exception):  # a network that is gone must not cost the result
            known = {*self._nodes, *self._left_out}
            return _called({node: name for node, name in self.online().items() if node not in known})
        return []

    def _attendance_notes(self, late: Sequence[str] = ()) -> tuple[Note, ...]:
        left_out = [self.label(node) for node in self._left_out]
        found = {"engines.absent-nodes": self._absent, "engines.left-out-nodes": left_out, "engines.late-nodes": late}
        return tuple(Note(code, _named_or_counted(nodes)) for code, nodes in found.items() if nodes)

    def _resume_from(self, state: State) -> None:
        content = json.loads(array_text(state["network"]))
        self._session, self._nodes, self._steps = content["session"], content["nodes"], content["steps"]
        self._names.restore(content["names"])
        self._flagged, self._failed = content["flagged"], set(content["failed"])
        absent, self._left_out = content["absent"], content["left_out"]
        self._absent = absent if isinstance(absent, int) else tuple(absent)


def _named_or_counted(nodes: Sequence[str] | int) -> dict[str, Fact]:
    """Facts of a note; the settings of the result have all names, however many."""
    if isinstance(nodes, int) or len(nodes) > _MOST_NAMES:
        return {"count": nodes if isinstance(nodes, int) else len(nodes)}
    return {"count": len(nodes), "names": tuple(nodes)}


def _called(nodes: Mapping[str, str]) -> list[str]:
    return [registered_name(name) or f"node-{node}" for node, name in nodes.items()]


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
