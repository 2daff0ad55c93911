"""Flower as the engine: the same protocols, the same results, other machines. Needs the extra `flower`."""
