"""`RunState`: a run as its events tell it, one event after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from fedbary.engines.events import Event
from fedbary.engines.live.records import Logged

# What the clients are asked for, in words.
ASKED = {
    "describe": "agreeing on a schema",
    "moments": "agreeing on a schema",
    "start": "starting the clients",
    "sketch": "comparing with the sketch",
    "centroids": "class centres",
    "final": "final distances",
    "step": "round",
    "scores": "scoring",
    "card": "asking for cards",
    "model": "weighing the candidates",
    "evidence": "judging the rows",
    "flags": "valuing the rows",
    "rows": "valuing the rows",
    "finish": "valuing the rows",
}
# More clients than this are counted, not shown.
_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class ClientState:
    """What is known of a client: its last answer or failure, and its distance so far."""

    state: Literal["waiting", "answered", "failed"] = "waiting"
    reason: str = ""
    distance: float | None = None


@dataclass(frozen=True)
class RunState:
    """A run as far as its events go.

    ``standing`` says whether it has begun and ended, ``phase`` in words what is being done, or why it stopped.
    ``joined`` of ``wanted`` nodes have come (Flower), ``answered`` of ``asked`` clients in this ``exchange``; ``round``
    counts those of the protocol. Times are seconds since 1970.
    """

    standing: Literal["waiting", "running", "finished", "stopped"] = "waiting"
    phase: str = "waiting for the run to begin"
    joined: int = 0
    wanted: int = 0
    total: int = 0
    exchange: int = 0
    round: int = 0
    answered: int = 0
    asked: int = 0
    clients: Mapping[str, ClientState] = field(default_factory=dict)
    started: float | None = None
    last: float | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.standing in ("finished", "stopped")

    @property
    def failed(self) -> dict[str, str]:
        """Clients that failed, with the reason."""
        return {name: client.reason for name, client in self.clients.items() if client.state == "failed"}

    def ranked(self) -> list[tuple[str, ClientState]]:
        """Clients, nearest first; then those without a distance, and those that failed."""

        def place(item: tuple[str, ClientState]) -> tuple[bool, bool, float]:
            client = item[1]
            return client.state == "failed", client.distance is None, client.distance or 0.0

        return sorted(self.clients.items(), key=place)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the clients as a ranked list."""
        clients = [{"client": name, **asdict(client)} for name, client in self.ranked()]
        return {**asdict(replace(self, clients={})), "clients": clients}


def after(run: RunState, entry: Logged) -> RunState:
    """The run after one more event; kinds that are not known change nothing but the time."""
    event = entry.event
    if run.standing == "finished":
        run = RunState()  # another run goes on in the same file
    run = replace(run, standing="running", last=entry.time, started=entry.time if run.started is None else run.started)
    step = _STEPS.get(event.kind)
    return run if step is None else step(run, event)


def _joined(run: RunState, event: Event) -> RunState:
    more = f" ({event.detail})" if event.detail else ""
    phase = f"{event.done} of {event.total} nodes have joined{more}"
    return replace(run, joined=event.done, wanted=event.total, phase=phase)


def _busy(run: RunState, event: Event) -> RunState:
    return replace(run, phase=event.detail)


def _started(run: RunState, event: Event) -> RunState:
    return replace(run, total=event.total, phase="the run has started")


def _asked(run: RunState, event: Event) -> RunState:
    number = run.round + (event.asked == "step")
    words = ASKED.get(event.asked, f"exchange {event.exchange}")
    clients = dict(run.clients)
    for name in event.clients:
        if name in clients or len(clients) < _MOST_CLIENTS:
            clients[name] = replace(clients.get(name, ClientState()), state="waiting", reason="")
    return replace(
        run,
        phase=f"{words} {number}" if event.asked == "step" else words,
        exchange=event.exchange,
        round=number,
        answered=0,
        asked=event.total,
        clients=clients,
    )


def _answered(run: RunState, event: Event) -> RunState:
    return _with_client(run, event, state="answered", reason="")


def _failed(run: RunState, event: Event) -> RunState:
    return _with_client(run, event, state="failed", reason=event.detail or "no reason was given")


def _with_client(run: RunState, event: Event, **news: Any) -> RunState:
    """The run with news of one client; an event of the server's own about it counts no answer."""
    if event.asked:
        run = replace(run, answered=event.done, asked=event.total)
    if not event.client or (event.client not in run.clients and len(run.clients) >= _MOST_CLIENTS):
        return run
    client = replace(run.clients.get(event.client, ClientState()), **news)
    return replace(run, clients={**run.clients, event.client: client})


def _all_answered(run: RunState, event: Event) -> RunState:
    return replace(run, answered=event.total, asked=event.total)


def _distances(run: RunState, event: Event) -> RunState:
    clients = {name: replace(client, distance=event.values.get(name)) for name, client in run.clients.items()}
    for name, distance in event.values.items():
        if name not in clients and len(clients) < _MOST_CLIENTS:
            clients[name] = ClientState(distance=distance)
    return replace(run, clients=clients)


def _finished(run: RunState, event: Event) -> RunState:  # noqa: ARG001 - one signature for all
    return replace(run, standing="finished", phase="finished")


def _stopped(run: RunState, event: Event) -> RunState:
    return replace(run, standing="stopped", phase=f"stopped: {event.detail or 'no reason was given'}")


_STEPS = {
    "nodes-joined": _joined,
    "server-busy": _busy,
    "run-started": _started,
    "round-started": _asked,
    "client-replied": _answered,
    "client-failed": _failed,
    "round-finished": _all_answered,
    "distances": _distances,
    "run-finished": _finished,
    "run-stopped": _stopped,
}
