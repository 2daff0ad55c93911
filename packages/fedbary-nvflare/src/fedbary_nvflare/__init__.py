"""FedBary over NVIDIA FLARE: an engine, jobs that bring no code, and closed start-up kits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.satellites import names_of

if TYPE_CHECKING:
    from fedbary_nvflare.coordinator import Coordinator
    from fedbary_nvflare.engine import NvflareEngine
    from fedbary_nvflare.job import Simulator, recipe
    from fedbary_nvflare.site import Site

__all__ = ["Coordinator", "NvflareEngine", "Simulator", "Site", "recipe"]

# Imported when first used: the network's own programs import modules of this package one by one.
_HOMES = {
    "Coordinator": "fedbary_nvflare.coordinator",
    "NvflareEngine": "fedbary_nvflare.engine",
    "Simulator": "fedbary_nvflare.job",
    "Site": "fedbary_nvflare.site",
    "recipe": "fedbary_nvflare.job",
}
__getattr__ = names_of(__name__, _HOMES)
