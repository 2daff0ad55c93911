"""The data owner's side of a FLARE job."""

from __future__ import annotations

from typing import Any

from nvflare.collab import collab

from fedbary.engines.answering import answered
from fedbary.engines.nvflare.site_config import own_config
from fedbary.engines.packed import Packed
from fedbary.errors import ProtocolError

_COORDINATOR = "server"  # FLARE's name of the caller that it has authenticated as the job's server


class Site:
    """What a site publishes to the job: it answers the coordinator's messages, as its owner's own config allows.

    It takes nothing from the job, which its server writes: where the rows are, the policy and the ledger are in the
    owner's file (see `fedbary.engines.nvflare.site_config`).
    """

    @collab.publish  # type: ignore[untyped-decorator]
    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer one of the coordinator's messages; nothing but the answer leaves, whatever happens."""
        return answered(lambda: _received(message), own_config).to_plain()


def _received(message: object) -> Packed:
    if collab.caller != _COORDINATOR:  # sites of a job can call each other
        raise ProtocolError("engines.asked-by-a-site")
    return Packed.from_plain(message)
