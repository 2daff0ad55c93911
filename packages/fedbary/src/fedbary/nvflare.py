"""FedBary in NVIDIA FLARE jobs: the public names of the package fedbary-nvflare (``pip install 'fedbary[nvflare]'``)."""

from fedbary.satellites import names_of

__getattr__ = names_of("fedbary_nvflare", __name__)
