"""Commands that run beside a test, and the log of a run that it writes for them."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from made_up_runs import FEDBARY

from fedbary.engines.events import EventLog


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start fedbary as a user does; whatever still runs in the end is interrupted."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [FEDBARY, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    """The log of a run in ``out``, to be written by the test."""
    return EventLog(tmp_path / "out" / "events.jsonl", append=False)
