"""FedBary over NVIDIA FLARE: an engine, jobs that bring no code, and closed start-up kits."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary_nvflare.coordinator import Coordinator
    from fedbary_nvflare.engine import NvflareEngine
    from fedbary_nvflare.job import Simulator, recipe
    from fedbary_nvflare.site import Site

__all__ = ["Coordinator", "NvflareEngine", "Simulator", "Site", "recipe"]

_HOMES = {
    "Coordinator": "fedbary_nvflare.coordinator",
    "NvflareEngine": "fedbary_nvflare.engine",
    "Simulator": "fedbary_nvflare.job",
    "Site": "fedbary_nvflare.site",
    "recipe": "fedbary_nvflare.job",
}


def __getattr__(name: str) -> Any:
    # Imported when first used: Flower's and FLARE's own programs import modules of this package one by one.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
