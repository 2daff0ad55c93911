"""Points that others are transported to time and again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.compute.kernels import centred_distances
from fedbary.errors import TransportError
from fedbary.transport.cost import powered

Floats = NDArray[np.float64]


class Target:
    """Points that stay while others move: they are checked, centred and squared once for all transports to them.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.transport import Target, solve
    >>> rows = Target(np.array([[0.0], [1.0]]))
    >>> [solve(np.array([[x]]), rows).cost for x in (0.0, 0.5)]
    [0.5, 0.25]
    """

    def __init__(self, points: Floats) -> None:
        self.points = finite_points(points, "Y")
        self._centre = self.points.mean(axis=0)
        self._centred = self.points - self._centre
        self._squares = np.einsum("ij,ij->i", self._centred, self._centred)

    def costs(self, X: Floats, p: int) -> Floats:
        """All pairwise costs ‖x_i − y_j‖^p."""
        return powered(centred_distances(X - self._centre, self._centred, self._squares), p)


def finite_points(values: Floats, name: str) -> Floats:
    """Rows of finite numbers, or an error that says what ``name`` is instead."""
    points = np.ascontiguousarray(values, dtype=np.float64)
    if points.ndim != 2 or len(points) == 0:
        raise TransportError("transport.not-points", name=name, shape=str(points.shape))
    if not np.isfinite(points).all():
        raise TransportError("transport.not-finite", name=name)
    return points
