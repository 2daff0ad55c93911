"""FedBary in Flower apps: the public names, which need the extra `flower`."""

from fedbary.engines.flower.choosing import SelectedNodes, from_result, weighted
from fedbary.research.flower_recording import Recording

__all__ = ["Recording", "SelectedNodes", "from_result", "weighted"]
