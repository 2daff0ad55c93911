"""What happens during a run: events for a progress display and for ``events.jsonl``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.guard.redaction import safe_reason

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation

NAME = "events.jsonl"


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    ``kind`` is one of ``nodes-joined``, ``server-busy`` (with what, in ``detail``), ``run-started``,
    ``round-started``, ``client-replied``, ``client-failed``, ``round-finished``, ``distances`` (client → distance so
    far, in ``values``), ``run-finished`` and ``run-stopped`` (why, in ``detail``). ``done`` of ``total`` clients have
    answered in this round; ``clients`` are those that are asked in it, as far as their names are known.
    """

    kind: str
    exchange: int = 0
    asked: str = ""
    client: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""
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
        # A reason may quote a file name that is no Unicode: JSON knows how to escape it.
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def news(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """Distances to tell, with six digits; none where there are none or they were told before.

    Examples
    --------
    >>> news({}, {"north": 1.23456789})
    {'north': 1.23457}
    >>> news({"north": 1.23457}, {"north": 1.23456789})
    {}
    """
    short = {name: float(f"{distance:.6g}") for name, distance in now.items()}
    return {} if short == before else short


def refused(result: Valuation, told: Container[str]) -> dict[str, str]:
    """Clients that failed without saying so themselves, such as those whose answer the server refused, and why."""
    return {name: status.removeprefix("failed: ") for name, status in result.failed.items() if name not in told}


@contextmanager
def told_if_stopped(log: Listener | None) -> Iterator[None]:
    """Log an exception that ends the run, in words without data, so that nobody who watches waits for ever."""
    try:
        yield
    except BaseException as error:
        if log is not None:
            known = isinstance(error, Exception)
            with suppress(OSError):  # a full disk must not hide why the run stopped
                log(Event("run-stopped", detail=safe_reason(error) if known else "interrupted"))
        raise
