"""Flower's own program `flwr`, asked for JSON about one federation."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from fedbary.deploy.plan import programs
from fedbary_flower.scripts import CONNECTION, ENVIRONMENT

_SECONDS = 30


class NoAnswer(Exception):  # noqa: N818 - what went wrong, not a kind of error: callers say what they wanted
    """`flwr` refused, or said nothing that can be read; the message says why."""


def flwr(folder: Path, *words: str, seconds: float = _SECONDS) -> dict[str, Any]:
    """What ``flwr WORDS`` answers for the federation in this folder; `NoAnswer` where it does not."""
    done = _call(folder, *words, "--format", "json", seconds=seconds)
    try:
        answer = json.loads(done.stdout)
        succeeded = answer.get("success")
    except (ValueError, AttributeError):
        raise NoAnswer(_last_line(done.stderr) or f"'flwr {words[0]}' gave no answer that can be read") from None
    if not succeeded:
        raise NoAnswer(_last_line(str(answer.get("error-message", ""))) or "no reason was given")
    return dict(answer)


def last_words(folder: Path, run: str) -> str:
    """The last line of a run's log; nothing where there is none."""
    try:
        return _last_line(_call(folder, "log", run, CONNECTION, "--show", seconds=_SECONDS).stdout)
    except NoAnswer:
        return ""


def environment(folder: Path) -> dict[str, str]:
    """The variables with which Flower's programs serve this federation, and do not call home."""
    paths = os.pathsep.join([str(programs()), os.environ.get("PATH", os.defpath)])
    return {**os.environ, **ENVIRONMENT, "FLWR_HOME": str(folder / "flwr"), "PATH": paths}


def _call(folder: Path, *words: str, seconds: float) -> subprocess.CompletedProcess[str]:
    command = [str(programs() / "flwr"), *words]
    try:
        return subprocess.run(  # noqa: S603 - a fixed program, and no shell
            command,
            # Flower takes a connection's name for an app where a folder of this name lies beside it.
            cwd=folder / "flwr",
            env=environment(folder),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"'flwr {words[0]}' did not answer within {seconds:.0f} seconds") from None
    except OSError as error:
        raise NoAnswer(f"'flwr' cannot be started ({error.strerror})") from None


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
