"""What happens during a run: events for a progress display and for ``events.jsonl``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Event:
    """One thing that happened.

    ``kind`` is one of ``server-busy`` (with what, in ``detail``), ``run-started``, ``round-started``,
    ``client-replied``, ``client-failed``, ``round-finished``, ``run-finished``; ``done`` of ``total`` clients have
    answered in this round.
    """

    kind: str
    exchange: int = 0
    asked: str = ""
    client: str = ""
    done: int = 0
    total: int = 0
    detail: str = ""


Listener = Callable[[Event], None]


class EventLog:
    """Appends events with their time to a JSON-lines file, which a live view can follow."""

    def __init__(self, path: Path, *, append: bool) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if not append:
            path.unlink(missing_ok=True)

    def __call__(self, event: Event) -> None:
        """Write one event."""
        record = {"time": round(time.time(), 3)} | {k: v for k, v in asdict(event).items() if v not in ("", 0)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
