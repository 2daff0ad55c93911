"""The coordinator's session with a FLARE server: who is connected, and jobs that are sent, looked after and ended."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbary.deploy.nvflare_kits import ADMIN
from fedbary.deploy.plan import Plan

_SECONDS = 15.0
_PERMITTED = re.compile(r": OK$")


class NoAnswer(Exception):  # noqa: N818 - what went wrong, not a kind of error: callers say what they wanted
    """FLARE's server refused, or did not answer; the message says why."""


@contextmanager
def session(folder: Path, plan: Plan) -> Iterator[Any]:
    """FLARE's `Session` of the coordinator's kit; whatever goes wrong in it is a `NoAnswer`."""
    from nvflare.fuel.flare_api.api_spec import (
        AuthenticationError,
        AuthorizationError,
        InternalError,
        InvalidJobDefinition,
        JobNotFound,
        NoConnection,
        SessionClosed,
    )
    from nvflare.fuel.flare_api.flare_api import new_secure_session

    _look_for_server(plan)
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # FLARE says what it does on the screen
            opened = new_secure_session(ADMIN, str(folder / "admin"), timeout=_SECONDS)
            try:
                yield opened
            finally:
                opened.close()
    except (NoConnection, SessionClosed) as error:
        raise NoAnswer(f"it does not answer ({_words(error)})") from error
    except (AuthenticationError, AuthorizationError) as error:
        raise NoAnswer(f"it does not take the coordinator's certificate ({_words(error)})") from error
    except (InternalError, InvalidJobDefinition, JobNotFound) as error:
        raise NoAnswer(_words(error)) from error


def connected(opened: Any) -> dict[str, float]:
    """Sites that the server hears from, and when it did last."""
    found = opened.get_system_info().client_info
    return {str(site.name): float(site.last_connect_time) for site in found}


def fresh(opened: Any, *, within: float = 40.0) -> set[str]:
    """Sites that have called lately; one that was killed stays in FLARE's list for a minute."""
    now = time.time()
    return {name for name, last in connected(opened).items() if now - last < within}


def reasons(meta: dict[str, Any]) -> str:
    """Why a job did not run, as far as FLARE says."""
    details = [str(line) for line in meta.get("job_deploy_detail") or [] if not _PERMITTED.search(str(line))]
    return "; ".join(details)


def _look_for_server(plan: Plan) -> None:
    """FLARE would try again for long."""
    try:
        socket.create_connection((plan.host, plan.port), timeout=5).close()
    except OSError as error:
        raise NoAnswer(f"it does not answer ({error.strerror or error})") from error


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
