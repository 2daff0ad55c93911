"""What happens during a run: events for a progress display and for ``events.jsonl``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.engines.run import Engine, Observer
from fedbary.errors import as_note
from fedbary.protocols.messages import Failure, Reply, ServerProtocol
from fedbary.wording import counted, duration, on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedbary.notes import Note
    from fedbary.valuation.result import Valuation

EVENTS = "events.jsonl"
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


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    ``kind`` is one of ``nodes-joined`` (who is absent or was left out, in ``detail``), ``server-busy`` (with what, in
    ``detail``), ``run-started``, ``round-started``, ``client-replied``, ``client-failed``, ``round-finished``,
    ``distances`` (client → distance so far, in ``values``), ``run-finished`` and ``run-stopped``. ``done`` of ``total``
    clients have answered in this round; ``clients`` are those that are asked in it, as far as their names are known.
    Why a client failed or a run stopped is in ``code`` and, in words that may be shown around, in ``detail``.
    """

    kind: str
    exchange: int = 0
    asked: str = ""
    client: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""
    code: str = ""
    clients: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)


Listener = Callable[[Event], None]


class EventLog:
    """Appends events with their time to a JSON-lines file, which a live view can follow."""

    def __init__(self, path: Path, *, append: bool) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not append:
            path.unlink(missing_ok=True)

    def __call__(self, event: Event) -> None:
        """Write one event, without what is empty."""
        record = {"time": round(time.time(), 3)} | {name: value for name, value in asdict(event).items() if value}
        # A name may hold what is no Unicode: JSON knows how to escape it.
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Log an exception that ends the run, in words without data, so that nobody who watches waits for ever."""
        try:
            yield
        except BaseException as error:
            why = as_note(error).redacted() if isinstance(error, Exception) else None
            with suppress(OSError):  # a full disk must not hide why the run stopped
                self(Event("run-stopped", detail=str(why or "interrupted"), code=why.code if why else ""))
            raise


class EventObserver(Observer):
    """Turns what it sees into events for its listeners."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners
        self._exchange = self._done = self._total = self._clients = 0
        self._kind = ""
        self._failed: set[str] = set()
        self._distances: dict[str, float] = {}

    def joined(self, clients: Sequence[str], wanted: int, notes: Sequence[Note] = ()) -> None:
        """``nodes-joined``."""
        said = "; ".join(str(note.redacted()) for note in notes)
        self._emit(Event("nodes-joined", total=wanted, done=len(clients), detail=said, clients=tuple(clients)))

    def started(self, clients: Sequence[str]) -> None:
        """``run-started``."""
        self._clients = len(clients)
        self._emit(Event("run-started", total=self._clients))

    def busy(self, what: str) -> None:
        """``server-busy``."""
        self._emit(Event("server-busy", detail=what))

    def asked(self, kind: str, clients: Sequence[str], *, total: int | None = None) -> None:
        """``round-started``."""
        self._close_round()
        self._exchange, self._done, self._kind = self._exchange + 1, 0, kind
        self._total = len(clients) if total is None else total
        self._emit(Event("round-started", self._exchange, kind, total=self._total, clients=tuple(clients)))

    def answered(self, client: str, answer: Reply | Failure) -> None:
        """``client-replied`` or ``client-failed``."""
        self._done += 1
        kind, detail, code = "client-replied", "", ""
        if isinstance(answer, Failure):
            self._failed.add(client)
            why = answer.note.redacted()
            kind, detail, code = "client-failed", str(why), why.code
        self._emit(Event(kind, self._exchange, self._kind, client, self._done, self._total, detail, code))

    def absorbed(self, protocol: ServerProtocol, engine: Engine) -> None:
        """``round-finished`` and, where there is news, ``distances``."""
        self._close_round()
        now = {engine.label(name): float(f"{distance:.6g}") for name, distance in protocol.so_far().items()}
        if now and now != self._distances:
            self._distances = now
            self._emit(Event("distances", self._exchange, values=now))

    def finished(self, result: Valuation) -> None:
        """Clients whose answer the server refused, and ``run-finished``."""
        self._close_round()
        for name, outcome in result.outcomes.items():
            if not outcome.ok and name not in self._failed:
                why = outcome.notes[0].redacted()
                total = self._clients
                self._emit(Event("client-failed", self._exchange, "", name, total, total, str(why), why.code))
        self._emit(Event("run-finished", total=self._clients))

    def _close_round(self) -> None:
        if self._kind:
            self._emit(Event("round-finished", self._exchange, self._kind, total=self._total))
            self._kind = ""

    def _emit(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


class ProgressLines:
    """A listener that writes a line where something begins, fails or ends, and now and then in between.

    Parameters
    ----------
    write : callable
        Takes a line. Default: to standard output, which ``flwr run --stream`` shows.
    every : float
        Seconds between two lines while nodes answer.

    Examples
    --------
    >>> from fedbary.engines.events import Event
    >>> lines = ProgressLines(print)
    >>> lines(Event("nodes-joined", done=3, total=3))
    fedbary: 3 nodes take part
    >>> lines(Event("round-started", 1, "sketch", total=3))
    fedbary: comparing with the sketch, 3 nodes asked
    >>> lines(Event("client-failed", 1, "sketch", "north", 1, 3, "no answer within 60 s"))
    fedbary: 'north' failed: no answer within 60 s
    """

    def __init__(self, write: Callable[[str], None] | None = None, *, every: float = 10.0) -> None:
        self._write = write or _to_standard_output
        self._every = every
        self._began = self._last = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Say what happened, if it is worth a line."""
        line = self._line(event)
        if line:
            self._last = time.monotonic()
            self._write(f"fedbary: {line}")

    def _line(self, event: Event) -> str:
        if event.kind == "client-replied" and time.monotonic() - self._last < self._every:
            return ""
        now = duration(time.monotonic() - self._began)
        verb = "takes" if event.done == 1 else "take"
        lines = {
            "nodes-joined": "; ".join(filter(None, (f"{counted(event.done, 'node')} {verb} part", event.detail))),
            "server-busy": event.detail,
            "round-started": f"{_exchange(event)}, {counted(event.total, 'node')} asked",
            "client-replied": f"{_exchange(event)}, {event.done} of {event.total} have answered",
            "client-failed": f"{on_one_line(event.client)!r} failed: {event.detail}",
            "run-finished": f"valued {counted(event.total, 'node')} in {now}",
        }
        return lines.get(event.kind, "")


def _exchange(event: Event) -> str:
    words = ASKED.get(event.asked, f"exchange {event.exchange}")
    return f"{words} {event.exchange - 1}" if event.asked == "step" else words


def _to_standard_output(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
