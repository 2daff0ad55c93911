"""`Transport`: a plan between two weighted point clouds, with the evidence that it is optimal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
