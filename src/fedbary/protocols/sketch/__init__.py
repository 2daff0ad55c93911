"""The one-round protocol: a sketch goes out, scalars come back."""

from fedbary.protocols.sketch.settings import Sketch

__all__ = ["Sketch"]
