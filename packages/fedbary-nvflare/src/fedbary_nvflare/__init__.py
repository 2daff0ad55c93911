"""FedBary in NVIDIA FLARE jobs: the public names, which need the extra `nvflare`."""

from fedbary_nvflare.coordinator import Coordinator
from fedbary_nvflare.engine import NvflareEngine
from fedbary_nvflare.job import Simulator, recipe
from fedbary_nvflare.site import Site

__all__ = ["Coordinator", "NvflareEngine", "Simulator", "Site", "recipe"]
