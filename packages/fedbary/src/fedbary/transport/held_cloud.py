"""`HeldCloud`: a cloud of which a GPU keeps the points between passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY, Array, Arrays, arrays_for
from fedbary.compute.held_parts import HeldParts
from fedbary.transport.cloud import Cloud

Floats = NDArray[np.float64]

# Passes that a transport takes, about, for the choice of a device.
_PASSES = 5


class HeldCloud:
    """A cloud as it was, and its points on a device."""

    def __init__(self, cloud: Cloud, width: int, xp: Arrays) -> None:
        self._cloud, self.xp = cloud, xp
        self._held = HeldParts(cloud.chunks, 8 * width * len(cloud.weights), xp)

    @property
    def weights(self) -> Floats:
        """Weights of the points."""
        return self._cloud.weights

    def chunks(self) -> Iterator[Floats]:
        """The points in this computer's memory."""
        return self._cloud.chunks()

    def parts(self) -> Iterator[tuple[slice, Array]]:
        """The points on the device, with their places."""
        start = 0
        for part in self._held:
            yield slice(start, start + len(part)), part
            start += len(part)


def held(cloud: Cloud, targets: Floats) -> Cloud:
    """The cloud on a GPU, where there is one and to compare all points with the targets is worth its start."""
    xp = arrays_for(float(_PASSES) * len(cloud.weights) * targets.size)
    return cloud if xp is NUMPY else HeldCloud(cloud, targets.shape[1], xp)
