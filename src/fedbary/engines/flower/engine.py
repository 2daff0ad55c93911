"""`FlowerEngine`: carries a protocol's messages over a Flower grid until it is done."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flwr.app import RecordDict
from flwr.serverapp import Grid

from fedbary.engines.checkpoint import NAME, load_checkpoint, save_checkpoint
from fedbary.engines.events import NAME as EVENTS
from fedbary.engines.events import Event, EventLog, news, refused, told_if_stopped
from fedbary.engines.flower.codec import pack_message
from fedbary.engines.flower.exchange import Patience, exchange
from fedbary.errors import ProtocolError
from fedbary.guard.envelope import Envelope
from fedbary.guard.node import FINISH, LAST, Asked
from fedbary.protocols.host import Host
from fedbary.protocols.messages import Failure, Message, Reply, ServerProtocol, array_text, text_array
from fedbary.protocols.state import below, under

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation


class FlowerEngine:
    """Runs a protocol with the nodes of a Flower federation.

    Parameters
    ----------
    grid : Grid
        Flower's, from the server app.
    folder : path
        For ``events.jsonl`` and a checkpoint after every round.
    resume : bool
        Go on from the checkpoint in ``folder``, if there is one, with the nodes that it names.
    patience : Patience
        Deadlines and retries.
    """

    def __init__(self, grid: Grid, *, folder: Path, resume: bool = False, patience: Patience | None = None) -> None:
        self._grid, self._folder, self._resume = grid, folder, resume
        self._patience = patience or Patience()
        folder.mkdir(parents=True, exist_ok=True)
        self._log = EventLog(folder / EVENTS, append=resume)
        self._session = secrets.token_hex(16)
        self._steps: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._flagged: dict[int, int] = {}
        self._failed: set[int] = set()
        self._rounds = 0

    def nodes(self, wanted: int, *, least: int | None = None, deadline: float = 120.0) -> list[int]:
        """Wait for so many nodes, or for ``least`` of them until the deadline; a resumed run waits for its own.

        Those of a resumed run that do not come are asked all the same, so that they are named.
        """
        with told_if_stopped(self._log):
            return self._nodes(wanted, least, deadline)

    def _nodes(self, wanted: int, least: int | None, deadline: float) -> list[int]:
        known, gone = self._known_nodes() if self._resume else ([], set())
        end = time.monotonic() + deadline
        found: list[int] = []
        while True:
            found = sorted(self._grid.get_node_ids())
            # Flower fails a message at once whose node is not online, also right after the server's restart.
            enough = set(known) - gone <= set(found) if known else len(found) >= wanted
            if enough or time.monotonic() >= end:
                break
            time.sleep(self._patience.poll)
        if known:
            return known
        if len(found) < (wanted if least is None else least):
            raise ProtocolError(
                f"{len(found)} of {wanted} nodes came within {deadline:g} s: start the others, or ask for fewer "
                "(num-nodes, min-nodes)."
            )
        self._log(
            Event("nodes-joined", total=wanted, done=len(found[:wanted]), detail=" ".join(map(str, found[:wanted])))
        )
        return found[:wanted]

    def run(
        self, nodes: Sequence[int], asked: Asked, server: Callable[[list[str], Host], ServerProtocol], *, identity: str
    ) -> Valuation:
        """Carry messages until the protocol is done; clients are called as their nodes are."""
        with told_if_stopped(self._log):
            return self._run(nodes, asked, server, identity)

    def _run(
        self, nodes: Sequence[int], asked: Asked, server: Callable[[list[str], Host], ServerProtocol], identity: str
    ) -> Valuation:
        import pandas as pd

        players = {str(node): node for node in nodes}
        protocol = server(list(players), Host(tell=lambda what: self._log(Event("server-busy", detail=what))))
        self._restore(protocol, identity, players)
        self._log(Event("run-started", total=len(players)))
        told: dict[str, float] = {}
        while tasks := protocol.tasks():
            protocol.absorb(self._deliver(tasks, players, asked))
            self._checkpoint(protocol, identity, players)
            called = self._called(players)
            if changed := news(told, {called[name]: distance for name, distance in protocol.so_far().items()}):
                told = changed
                self._log(Event("distances", self._rounds, values=told))
        result = protocol.result()
        called = self._called(players)
        for name, status in refused(result, {str(node) for node in self._failed}).items():
            self._log(Event("client-failed", self._rounds, "", called[name], len(players), len(players), status))
        if asked.protocol.name not in LAST:
            valued = [name for name in players if name not in result.failed]
            self._deliver({name: Message(FINISH, 2**30) for name in valued}, players, asked)
        self._log(Event("run-finished", total=len(players)))
        (self._folder / NAME).unlink(missing_ok=True)
        flagged = pd.array([self._flagged.get(players[name]) for name in result.clients["client"]], dtype="Int64")
        result = replace(result, clients=result.clients.assign(flagged=flagged))
        return replace(
            renamed(result, self._called(players)),
            _rows_at=f"the output folder of its owner's node, under results/{self._session}",
        )

    def _deliver(
        self, tasks: Mapping[str, Message], players: Mapping[str, int], asked: Asked
    ) -> dict[str, Reply | Failure]:
        self._rounds += 1
        kind = next(iter(tasks.values())).kind
        called = self._called(players)
        known = tuple(called[name] for name in tasks if players[name] in self._names)
        self._log(Event("round-started", self._rounds, kind, total=len(tasks), clients=known))
        settings = asked.to_json()
        questions: dict[int, tuple[RecordDict, Envelope]] = {}
        for name, message in tasks.items():
            node = players[name]
            step = self._steps.get(node, 0) + 1
            envelope = Envelope(self._session, message.kind, message.round, step, settings=settings)
            questions[node] = pack_message(message, envelope), envelope
        done = 0

        def told(node: int, reply: Reply | Failure, envelope: Envelope) -> None:
            nonlocal done, called
            done += 1
            if envelope.name and envelope.name != self._names.get(node):
                self._names[node] = envelope.name
                called = self._called(players)
            what, why = ("client-failed", reply.reason) if isinstance(reply, Failure) else ("client-replied", "")
            self._log(Event(what, self._rounds, kind, called[str(node)], done, len(tasks), why))

        answers = exchange(self._grid, questions, self._patience, told=told)
        for node, (reply, envelope) in answers.items():
            if isinstance(reply, Reply):  # only an answer moves a client on
                self._steps[node] = envelope.step
            else:
                self._failed.add(node)
            if envelope.flagged is not None:
                self._flagged[node] = envelope.flagged
        self._log(Event("round-finished", self._rounds, kind, total=len(tasks)))
        return {name: answers[players[name]][0] for name in tasks}

    def _called(self, players: Mapping[str, int]) -> dict[str, str]:
        """What the nodes call themselves, made different where two say the same."""
        called: dict[str, str] = {}
        taken: set[str] = set()
        for name, node in players.items():
            wish = self._names.get(node) or f"node-{node}"
            own, number = wish, 2
            while own in taken:
                own, number = f"{wish} ({number})", number + 1
            called[name] = own
            taken.add(own)
        return called

    def _checkpoint(self, protocol: ServerProtocol, identity: str, players: Mapping[str, int]) -> None:
        engine = {
            "session": self._session,
            "rounds": self._rounds,
            "nodes": list(players.values()),
            "steps": {str(node): step for node, step in self._steps.items()},
            "names": {str(node): name for node, name in self._names.items()},
            "flagged": {str(node): count for node, count in self._flagged.items()},
            "failed": sorted(self._failed),
        }
        state = {"engine": text_array(json.dumps(engine)), **under("protocol.", protocol.state())}
        save_checkpoint(self._folder, identity, state, {})

    def _restore(self, protocol: ServerProtocol, identity: str, players: Mapping[str, int]) -> None:
        stored = load_checkpoint(self._folder, identity, []) if self._resume else None
        if stored is None:
            return
        engine = json.loads(array_text(stored[0]["engine"]))
        if engine["nodes"] != list(players.values()):
            raise ProtocolError("The checkpoint is of a run with other nodes: start anew in another folder.")
        self._session, self._rounds = engine["session"], engine["rounds"]
        self._steps = {int(node): step for node, step in engine["steps"].items()}
        self._names = {int(node): name for node, name in engine["names"].items()}
        self._flagged = {int(node): count for node, count in engine["flagged"].items()}
        self._failed = set(engine["failed"])
        protocol.restore(below(stored[0], "protocol."))

    def _known_nodes(self) -> tuple[list[int], set[int]]:
        """The checkpoint's nodes, and which of them had failed."""
        import numpy as np

        file = self._folder / NAME
        if not file.is_file():
            return [], set()
        with np.load(file, allow_pickle=False) as stored:
            engine = json.loads(array_text(stored["server/engine"]))
        return [int(node) for node in engine["nodes"]], set(engine["failed"])


def renamed(result: Valuation, called: Mapping[str, str]) -> Valuation:
    """The result with other names of clients."""
    scores = result.scores
    if scores is not None:
        scores = replace(scores, clients=tuple(called[name] for name in scores.clients))
    clients, history = (
        frame.assign(client=frame["client"].map(called).astype(frame["client"].dtype))
        for frame in (result.clients, result.history)
    )
    return replace(result, clients=clients, history=history, scores=scores)
