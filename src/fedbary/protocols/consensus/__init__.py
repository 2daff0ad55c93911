"""The target without validation data: a federated, robust, class-wise Wasserstein barycenter."""

from fedbary.protocols.consensus.settings import Consensus

__all__ = ["Consensus"]
