"""How far a run is, in lines of text: for logs, where no bar can be drawn."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fedbary.engines.live.state import ASKED
from fedbary.wording import counted, duration, on_one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedbary.engines.events import Event


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
