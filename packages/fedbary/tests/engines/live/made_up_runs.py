"""Runs that never happened, with clients whose names are instructions to somebody."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from fedbary.engines.events import Event, EventLog

FEDBARY = Path(sys.executable).with_name("fedbary")
HOSTILE = ("<script>alert(1)</script>", "[/oops]", "مستشفى 🏥", "=1+1", "'\"<a href='x'>", "x" * 300)


def hostile_run(log: EventLog) -> None:
    """A run up to its second exchange, with clients whose names are instructions to somebody."""
    *valued, failed = HOSTILE
    log(Event("nodes-joined", total=len(HOSTILE), done=len(HOSTILE)))
    log(Event("run-started", total=len(HOSTILE)))
    log(Event("round-started", 1, "start", total=len(HOSTILE), clients=HOSTILE))
    for done, name in enumerate(valued, start=1):
        log(Event("client-replied", 1, "start", name, done, len(HOSTILE)))
    log(Event("client-failed", 1, "start", failed, len(HOSTILE), len(HOSTILE), "<b>no</b> [bold]label\x1b[31m"))
    log(Event("distances", 1, values={name: 1.5 + place for place, name in enumerate(valued)}))
    log(Event("round-started", 2, "step", total=len(valued), clients=tuple(valued)))


def finish(log: EventLog, folder: Path) -> None:
    """The end of a run: the last event, then the report."""
    log(Event("run-finished", total=len(HOSTILE)))
    (folder / "report.html").write_text("<!doctype html><title>The report</title><p>all of it</p>", encoding="utf-8")


def eventually(true: Callable[[], object], seconds: float = 300.0) -> bool:
    end = time.monotonic() + seconds
    while not (found := bool(true())) and time.monotonic() < end:
        time.sleep(0.05)
    return found
