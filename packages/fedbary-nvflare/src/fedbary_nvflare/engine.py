"""`NvflareEngine`: carries a protocol's messages to the sites of an NVIDIA FLARE job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from typing import Any

from nvflare.collab import CollabCallError
from nvflare.collab.api.exceptions import RunAborted

from fedbary.engines.networked import NetworkedEngine, OnAnswer
from fedbary.engines.nodes import Attendance
from fedbary.engines.packed import Packed
from fedbary.notes import Note
from fedbary.protocols.messages import Failure
from fedbary.valuation.outcome import Status

# FLARE ends a call after its timeout; until that is heard, a moment more.
_GRACE = 2.0
_RAISED = Failure(Note("engines.app-failed"))
_UNREACHABLE = Failure(Note("engines.node-unreachable"), Status.SILENT)


class NvflareEngine(NetworkedEngine):
    """Runs a protocol with the sites of a FLARE job.

    Parameters
    ----------
    sites : iterable of Proxy
        ``collab.clients``, in the job's main function. Their names are those of FLARE's provisioning.
    attendance : Attendance
        Who takes part; FLARE itself waits for the sites before a job begins, and nobody joins later.
    **options
        As of `NetworkedEngine`.
    """

    name = "nvflare"

    def __init__(self, sites: Iterable[Any], attendance: Attendance, **options: Any) -> None:
        super().__init__(attendance, **options)
        self._sites = {str(site.name): site for site in sites}

    def online(self) -> Mapping[str, str]:
        """All sites of the job, whose names are their ids."""
        return {name: name for name in self._sites}

    def deliver(self, messages: Mapping[str, Packed], on_answer: OnAnswer) -> None:
        """Call all sites at the same time; a call that goes on after the timeout is left to itself."""
        calls = ThreadPoolExecutor(len(messages), thread_name_prefix="fedbary-ask")
        waiting = {calls.submit(self._ask, node, content): node for node, content in messages.items()}
        try:
            for call in as_completed(waiting, timeout=self.patience.timeout + _GRACE):
                answer = call.result()
                if answer is not None:
                    on_answer(waiting[call], answer)
        except TimeoutError:
            pass
        except RunAborted as error:  # whoever looks after the server ended the job
            raise KeyboardInterrupt from error
        finally:
            calls.shutdown(wait=False, cancel_futures=True)

    def facts(self) -> dict[str, Any]:
        """And FLARE's version."""
        return super().facts() | {"nvflare": version("nvflare")}

    def _ask(self, node: str, content: Packed) -> Packed | Failure | None:
        site = self._sites.get(node)
        if site is None:  # of the run that is resumed, but not of this job
            return _UNREACHABLE
        try:
            return Packed.from_plain(site(timeout=self.patience.timeout).ask(content.to_plain()))
        except RunAborted:
            raise
        except CollabCallError as error:
            return _failure(error)
        except Exception as error:  # whatever a site sends must not stop the others
            return Failure.of(error)


def _failure(error: CollabCallError) -> Failure | None:
    """What FLARE says of a call that failed, without its words, which are the site's; a timeout is silence."""
    if isinstance(error.cause, TimeoutError):
        return None
    return _UNREACHABLE if error.remote_traceback is None else _RAISED
