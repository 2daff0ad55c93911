"""The coordinator's session with a FLARE server: who is connected, and jobs that are sent, looked after and ended.

As a program, ``python -P -m fedbary_nvflare.session ADMIN-KIT``, it does one of these and says JSON; FLARE's own
library prints, starts threads and keeps state for the whole process, so commands do not load it into theirs.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbary.protocols.messages import Scalar
from fedbary.wording import as_plain
from fedbary_nvflare.control import NoAnswer
from fedbary_nvflare.kits import ADMIN

_SECONDS = 15.0
# For a site to answer.
_SITE_SECONDS, _SILENT = 2.0, "no_reply"
_POLL = 1.0
_LONGEST_NAME = 64
_WELL = ("FINISHED:COMPLETED",)
_REPORTED = "due to reported failure from "


@contextmanager
def session(kit: Path) -> Iterator[Any]:
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

    try:
        opened = new_secure_session(ADMIN, str(kit), timeout=_SECONDS)
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


def submit(opened: Any, config: Mapping[str, Scalar], wanted: Sequence[str], seconds: float) -> str:
    """Send the job to those of the wanted sites that are there once all are, or the time is over; its id."""
    from fedbary_nvflare.job_folder import export

    end = time.monotonic() + seconds
    while True:
        answering = online(opened)
        if answering.issuperset(wanted) or time.monotonic() >= end:
            break
        time.sleep(_POLL)
    there = [name for name in wanted if name in answering]
    if not there:
        raise NoAnswer(f"none of {', '.join(wanted)} is connected to the server")
    with tempfile.TemporaryDirectory() as place:
        return str(opened.submit_job(str(export(Path(place), config, names=there))))


def job(opened: Any, run: str) -> dict[str, Any]:
    """What FLARE says of a job: its status, why sites would not take it, and whose failure ended it."""
    meta = opened.get_job_meta(run)
    status = str(meta.get("status", ""))
    details = [str(line) for line in meta.get("job_deploy_detail") or []]
    why = [line for line in details if not line.endswith(": OK")]
    if status.startswith("FINISHED") and status not in _WELL:
        why += _blamed(opened, run)
    return {"status": status, "why": "; ".join(why)}


def _blamed(opened: Any, run: str) -> list[str]:
    """Sites whose failure ended the job; one is enough for FLARE, and only the server's own log says which."""
    try:
        lines = opened.grep_target("server", pattern=f"job.{run}.due.to.reported.failure", file="log.txt")
    except Exception:  # a reason that cannot be had is no reason to fail
        return []
    # Of each line the site's name, and nothing of what the site itself says.
    named = (part.split()[0].rstrip(":") for part in str(lines).split(_REPORTED)[1:] if part.split())
    return list(dict.fromkeys(f"a failure at {as_plain(name, _LONGEST_NAME)} ended the job for all" for name in named))


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    "online": lambda opened: sorted(online(opened)),
    "submit": submit,
    "job": job,
    "abort": lambda opened, run: opened.abort_job(run),
}


def _main(kit: str) -> None:
    asked = json.load(sys.stdin)
    answer: dict[str, Any]
    try:
        with contextlib.redirect_stdout(sys.stderr), session(Path(kit)) as opened:
            answer = {"found": _ACTIONS[asked.pop("action")](opened, **asked)}
    except NoAnswer as why:
        answer = {"problem": str(why)}
    sys.stdout.write(json.dumps(answer) + "\n")


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


if __name__ == "__main__":
    _main(sys.argv[1])
