"""A run in progress, read from its ``events.jsonl``: for `fedbary watch`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from fedbary.engines.events import ASKED, EVENTS, Event
from fedbary.engines.session import CHECKPOINT

LONGEST_TEXT = 1000
_MOST = 10**9
_LATEST = 1e11  # seconds; later than any calendar that Python knows the days of


@dataclass(frozen=True)
class Logged:
    """An event and when it happened, in seconds since 1970."""

    time: float
    event: Event


def logged(line: bytes) -> Logged | None:
    """The event in a line; None where the line is broken or nothing that an engine writes."""
    try:
        record = json.loads(line)
        return Logged(_number(record["time"], most=_LATEST), _event(record))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _event(record: Mapping[str, Any]) -> Event:
    values, clients = record.get("values", {}), record.get("clients", [])
    if not isinstance(values, dict) or not isinstance(clients, list):
        raise TypeError
    return Event(
        _text(record["kind"]),
        exchange=_count(record.get("exchange", 0)),
        asked=_text(record.get("asked", "")),
        client=_text(record.get("client", "")),
        done=_count(record.get("done", 0)),
        total=_count(record.get("total", 0)),
        detail=_text(record.get("detail", "")),
        code=_text(record.get("code", "")),
        clients=tuple(map(_text, clients)),
        values={_text(client): _number(distance) for client, distance in values.items()},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value[:LONGEST_TEXT]


def _count(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError
    return int(value)


def _number(value: object, *, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    number = float(value)  # of a whole number with 400 digits: an OverflowError
    if not (math.isfinite(number) and 0 <= number <= most):
        raise ValueError
    return number


# More clients than this are counted, not shown.
_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class ClientState:
    """What is known of a client: its last answer or failure, and its distance so far."""

    state: Literal["waiting", "answered", "failed"] = "waiting"
    reason: str = ""
    distance: float | None = None


@dataclass(frozen=True)
class RunProgress:
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


def after(run: RunProgress, entry: Logged) -> RunProgress:
    """The run after one more event; kinds that are not known change nothing but the time."""
    event = entry.event
    if run.standing == "finished":
        run = RunProgress()  # another run goes on in the same file
    run = replace(run, standing="running", last=entry.time, started=entry.time if run.started is None else run.started)
    match event.kind:
        case "nodes-joined":
            more = f" ({event.detail})" if event.detail else ""
            phase = f"{event.done} of {event.total} nodes have joined{more}"
            return replace(run, joined=event.done, wanted=event.total, phase=phase)
        case "server-busy":
            return replace(run, phase=event.detail)
        case "run-started":
            return replace(run, total=event.total, phase="the run has started")
        case "round-started":
            return _asked(run, event)
        case "client-replied":
            return _with_client(run, event, state="answered", reason="")
        case "client-failed":
            return _with_client(run, event, state="failed", reason=event.detail or "no reason was given")
        case "round-finished":
            return replace(run, answered=event.total, asked=event.total)
        case "distances":
            clients = {name: replace(client, distance=event.values.get(name)) for name, client in run.clients.items()}
            for name, distance in event.values.items():
                if name not in clients and len(clients) < _MOST_CLIENTS:
                    clients[name] = ClientState(distance=distance)
            return replace(run, clients=clients)
        case "run-finished":
            return replace(run, standing="finished", phase="finished")
        case "run-stopped":
            return replace(run, standing="stopped", phase=f"stopped: {event.detail or 'no reason was given'}")
    return run


def _asked(run: RunProgress, event: Event) -> RunProgress:
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


def _with_client(run: RunProgress, event: Event, **news: Any) -> RunProgress:
    """The run with news of one client; an event of the server's own about it counts no answer."""
    if event.asked:
        run = replace(run, answered=event.done, asked=event.total)
    if not event.client or (event.client not in run.clients and len(run.clients) >= _MOST_CLIENTS):
        return run
    client = replace(run.clients.get(event.client, ClientState()), **news)
    return replace(run, clients={**run.clients, event.client: client})


_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 22  # the distances of fifty thousand clients
_HEAD = 256


class Follower:
    r"""Reads what was added to a folder's ``events.jsonl`` since the last look.

    Parameters
    ----------
    folder : path
        The run's output folder. Neither it nor the file needs to be there yet.

    Notes
    -----
    Lines that are not whole yet wait for the next look. Lines that are broken or absurdly long are skipped and counted
    in ``broken``. A file that was begun anew, by another run, is read from its start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = _Position()

    @property
    def broken(self) -> int:
        """Lines of this file that were skipped."""
        return self._at.broken

    def read(self) -> Iterator[Logged | None]:
        """Events since the last look, oldest first; None says that the file is another one and starts here."""
        path = inside(self._folder, EVENTS)
        if path is None:
            return
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if self._at.offset and not self._at.is_in(status, file.read(_HEAD)):
                    self._at = _Position()
                    yield None
                self._at.file = status.st_dev, status.st_ino
                file.seek(self._at.offset)
                while self._at.offset < status.st_size and (chunk := file.read(_CHUNK)):
                    yield from self._entries(chunk)
        except OSError:  # removed by a run that begins, or not to be read: there may be more at the next look
            return

    def _entries(self, chunk: bytes) -> Iterator[Logged]:
        at = self._at
        at.offset += len(chunk)
        at.head = at.head if len(at.head) == _HEAD else (at.head + chunk)[:_HEAD]
        *lines, rest = (at.rest + chunk).split(b"\n")
        for line in lines:
            entry = None if at.too_long else logged(line)
            if entry is not None:
                yield entry
            elif at.too_long or line.strip():
                at.broken += 1
            at.too_long = False
        at.too_long = at.too_long or len(rest) > _LONGEST_LINE
        at.rest = b"" if at.too_long else rest


@dataclass
class _Position:
    """How far a file was read: its number and its first bytes, the line that is not whole yet."""

    file: tuple[int, int] = (0, 0)
    head: bytes = b""
    offset: int = 0
    rest: bytes = b""
    too_long: bool = False
    broken: int = 0

    def is_in(self, status: os.stat_result, head: bytes) -> bool:
        """Whether the file is still the same; a new one may have the old one's number, but not its first line."""
        same = self.file == (status.st_dev, status.st_ino) and head.startswith(self.head)
        return same and status.st_size >= self.offset


def inside(folder: Path, name: str) -> Path | None:
    """A plain file of the folder; None where there is none, or a link leads out of the folder."""
    try:
        path = (folder / name).resolve(strict=True)
        return path if path.is_file() and path.is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError):  # not there; links in a circle
        return None


REPORT = "report.html"
# Clocks of file systems may be behind.
_SLACK = 2.0
# Seconds. Row values of large clients take a while to write, and a run of `fedbary.value` writes no report at all.
_REPORT_COMES_WITHIN = 60.0


class Watched:
    """A run's output folder, whether the run is to come, going on or over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = RunProgress()
        self._follower = Follower(folder)

    def look(self) -> Iterator[Logged]:
        """Events since the last look; ``run`` is up to date with each of them. To be read to its end."""
        for entry in self._follower.read():
            if entry is None:
                self.run = RunProgress()
            else:
                self.run = after(self.run, entry)
                yield entry

    def skip(self) -> None:
        """Leave out what is there already: another run is about to begin in the folder, or goes on."""
        for _ in self.look():
            pass
        self.run = RunProgress()

    @property
    def report(self) -> Path | None:
        """The finished run's report; one that an earlier run left does not count."""
        path = inside(self.folder, REPORT)
        if path is None or self.run.started is None:
            return path
        try:
            fresh = path.stat().st_mtime >= self.run.started - _SLACK
        except OSError:
            return None
        return path if fresh and self.run.standing == "finished" else None

    def is_over(self, now: float) -> bool:
        """Whether nothing more is to be waited for, not even the report, which is written after the last event."""
        run = self.run
        late = run.last is not None and now - run.last > _REPORT_COMES_WITHIN
        return run.standing == "stopped" or (run.standing == "finished" and (late or self.report is not None))

    @property
    def remedy(self) -> str:
        """What to do about a run that stopped."""
        if self.resumable:
            return "Run the same command with --resume (Flower: resume=true), and it goes on from its last round."
        return "It stopped before its first round was over: mend what it says, and start it again."

    @property
    def resumable(self) -> bool:
        """Whether a stopped run can go on from its last round."""
        return inside(self.folder, CHECKPOINT) is not None

    @property
    def broken(self) -> int:
        """Lines of the log that could not be read."""
        return self._follower.broken

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            **self.run.to_dict(),
            "broken": self.broken,
            "report": self.report is not None,
            "remedy": self.remedy if self.run.standing == "stopped" else "",
        }
