"""FedBary in NVIDIA FLARE jobs: the public names, which need the extra `nvflare`."""

from fedbary.engines.nvflare.coordinator import Coordinator
from fedbary.engines.nvflare.engine import NvflareEngine
from fedbary.engines.nvflare.job import Simulator, recipe
from fedbary.engines.nvflare.site import Site

__all__ = ["Coordinator", "NvflareEngine", "Simulator", "Site", "recipe"]
