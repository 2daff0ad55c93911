"""FLARE's server, asked by a program of its own for one federation."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbary.deploy.plan import Plan

_SECONDS = 60.0


class NoAnswer(Exception):  # noqa: N818 - what went wrong, not a kind of error: callers say what they wanted
    """FLARE's server refused, or did not answer; the message says why."""


def flare(
    folder: Path, plan: Plan, action: str, facts: Mapping[str, Any] | None = None, *, patience: float = 0.0
) -> Any:
    """What the server answers to one of the actions of `fedbary_nvflare.session`.

    ``patience`` is how many seconds more than usual it may take.
    """
    seconds = _SECONDS + patience
    _look_for_server(plan)
    # -P: the folder in which the command is typed may be everybody's, and its files are no modules of ours.
    command = [sys.executable, "-P", "-m", "fedbary_nvflare.session", str(folder / "admin")]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, and no shell
            command,
            input=json.dumps({"action": action, **(facts or {})}),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"it did not answer within {seconds:.0f} seconds") from None
    except ValueError:
        words = done.stderr.strip().splitlines()
        raise NoAnswer(words[-1] if words else "FLARE gave no answer that can be read") from None
    if "problem" in answer:
        raise NoAnswer(answer["problem"])
    return answer["found"]


def _look_for_server(plan: Plan) -> None:
    """FLARE would try again for long."""
    try:
        socket.create_connection((plan.host, plan.port), timeout=5).close()
    except OSError as error:
        raise NoAnswer(f"it does not answer ({error.strerror or error})") from error
