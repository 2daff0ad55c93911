"""`Transport`: a plan between two weighted point clouds with the evidence that it is optimal, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import wrong_parameter

Floats = NDArray[np.float64]
Interpolation = Literal["barycentric", "exact"]


@dataclass(frozen=True, eq=False)
class Transport:
    """A plan between ``m`` source and ``n`` target points, with the proof of how near to optimal it is.

    Attributes
    ----------
    cost : float
        Σ π_ij·c_ij, that is W_p^p, or at most ``gap`` more.
    source_potential, target_potential : arrays
        Dual potentials f, g with f_i + g_j ≤ c_ij, centred so that ⟨a, f⟩ = ⟨b, g⟩ = dual_value / 2.
    source, target, mass : arrays
        The plan as its non-zero entries: ``mass[k]`` goes from ``source[k]`` to ``target[k]``.
    gap : float
        Primal minus dual value: how far from optimal the plan can be at most.
    method : str
        The solver that was used.
    """

    cost: float
    source_potential: Floats
    target_potential: Floats
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    mass: Floats
    source_weights: Floats
    target_weights: Floats
    gap: float
    p: int
    method: str

    @property
    def dual_value(self) -> float:
        """What no plan can cost less than."""
        return self.cost - max(self.gap, 0.0)

    @property
    def distance(self) -> float:
        """W_p, the p-th root of the cost."""
        return float(self.cost ** (1.0 / self.p))

    @property
    def plan(self) -> Floats:
        """The plan as a dense ``(m, n)`` matrix."""
        dense = np.zeros((len(self.source_weights), len(self.target_weights)))
        np.add.at(dense, (self.source, self.target), self.mass)
        return dense


def barycentric_projection(transport: Transport, Y: Floats) -> Floats:
    """Where each source point goes on average: Σ_j π_ij·y_j / a_i."""
    from scipy.sparse import csr_array

    weights = transport.source_weights
    source, target, mass = transport.source, transport.target, transport.mass
    if (np.diff(source) < 0).any():
        order = np.argsort(source, kind="stable")
        source, target, mass = source[order], target[order], mass[order]
    ends = np.searchsorted(source, np.arange(len(weights) + 1))
    sums = np.asarray(csr_array((mass, target, ends), shape=(len(weights), len(Y))) @ Y)
    carrying = weights > 0
    sums[carrying] /= weights[carrying, None]
    return sums


def interpolate(
    transport: Transport, X: Floats, Y: Floats, t: float, *, mode: Interpolation = "barycentric"
) -> tuple[Floats, Floats]:
    """Points and weights of the measure a fraction ``t`` of the way from X to Y.

    ``exact`` is the push-forward of the plan under (1 − t)·x + t·y: a true geodesic, one point per non-zero
    entry of the plan. ``barycentric`` (eq. 6 of the paper) moves each source point towards its barycentric
    projection, so that the support keeps its size; the two agree where the plan is a matching.
    """
    if not 0.0 <= t <= 1.0:
        raise wrong_parameter("t", "interpolate", "in [0, 1]", t)
    if mode == "barycentric":
        return (1.0 - t) * X + t * barycentric_projection(transport, Y), transport.source_weights
    points = (1.0 - t) * X[transport.source] + t * Y[transport.target]
    return points, transport.mass / transport.mass.sum()
