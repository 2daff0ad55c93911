"""The coordinator's session with a FLARE server: who is connected, and jobs that are sent, looked after and ended."""

from __future__ import annotations

import contextlib
import io
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbary.deploy.nvflare_kits import ADMIN
from fedbary.deploy.plan import Plan

_SECONDS = 15.0
# For a site to answer.
_SITE_SECONDS, _SILENT = 2.0, "no_reply"
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


def online(opened: Any) -> set[str]:
    """Sites that answer now; FLARE's own list has those that were killed or frozen for another minute."""
    from nvflare.fuel.flare_api.api_spec import NoConnection

    listed = [str(site.name) for site in opened.get_system_info().client_info]
    if not listed:
        return set()
    opened.set_timeout(_SITE_SECONDS)
    try:
        return _answering(opened, listed)
    except NoConnection:  # the server waits for a frozen site as long as we wait for the server: ask one by one
        found = set[str]()
        for name in listed:
            with contextlib.suppress(NoConnection):
                found |= _answering(opened, [name])
        return found
    finally:
        opened.unset_timeout()


def _answering(opened: Any, names: list[str]) -> set[str]:
    found = opened.check_status("client", names)["client_status"]
    return {str(site["client_name"]) for site in found if site["status"] != _SILENT}


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
