"""FedBary in NVIDIA FLARE jobs: the public names of the package fedbary-nvflare (``fedbary[nvflare]``)."""

from fedbary.satellites import names_of

__all__ = ["Coordinator", "NvflareEngine", "Simulator", "Site", "recipe"]  # noqa: F822
__getattr__ = names_of(__name__, dict.fromkeys(__all__, "fedbary_nvflare"))
