"""The paper's Algorithm 1 as two sans-IO halves."""

from fedbary.protocols.interpolation.settings import Interpolation

__all__ = ["Interpolation"]
