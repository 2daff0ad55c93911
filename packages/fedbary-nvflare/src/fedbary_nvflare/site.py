"""The data owner's side of a FLARE job."""

from __future__ import annotations

from typing import Any

from nvflare.collab import collab

from fedbary.engines.packed import Packed, answered
from fedbary.errors import ProtocolError
from fedbary.guard.node_config import TableSource
from fedbary_nvflare.site_config import is_simulated, own_config

_COORDINATOR = "server"  # FLARE's name of the caller that it has authenticated as the job's server


class Site:
    """What a site publishes to the job: it answers the coordinator's messages, as its owner's own config allows.

    It takes nothing from the job, which its server writes: where the rows are, the policy and the ledger are in the
    owner's file (see `fedbary_nvflare.site_config`).

    Attributes
    ----------
    label : str, optional
        The label column of what `load_table` returns, where the owner's file names none.
    """

    label: str | None = None

    def load_table(self, site: str) -> Any:
        """The rows of a site, in a class of your own, for simulations: a `Table`, a pair ``(X, y)``, a frame, a path.

        Ours reads what the owner's file names.
        """
        raise NotImplementedError

    @collab.publish  # type: ignore[untyped-decorator]
    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer one of the coordinator's messages; nothing but the answer leaves, whatever happens."""
        return answered(lambda: _received(message), lambda: own_config(self._source())).to_plain()

    def _source(self) -> TableSource | None:
        if type(self).load_table is Site.load_table:
            return None
        site = str(collab.site_name)
        return TableSource(lambda: self.load_table(site), self.label, simulated=is_simulated())


def _received(message: object) -> Packed:
    if collab.caller != _COORDINATOR:  # sites of a job can call each other
        raise ProtocolError("engines.asked-by-a-site")
    return Packed.from_plain(message)
