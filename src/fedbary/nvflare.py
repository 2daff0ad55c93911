"""FedBary in NVIDIA FLARE jobs: the public names, which need the extra `nvflare`."""
