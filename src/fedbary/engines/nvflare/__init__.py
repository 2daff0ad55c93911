"""NVIDIA FLARE as the engine: the same protocols, the same results. Needs the extra `nvflare`."""
