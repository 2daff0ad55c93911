"""Entropic optimal transport on a cost matrix: its dual potentials, to convergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import Array, Arrays, arrays_for
from fedbary.errors import TransportError, wrong_parameter

Floats = NDArray[np.float64]

# How well the marginals are met before ε falls further: from a rough start, Newton steps get stuck at the next ε.
_ROUGH = 1e-6
# Sweeps before Newton steps take over: enough where ε is large, and where it is small no number is.
_SWEEPS = 20
_NEWTON_STEPS = 100
_HALVINGS = 30
# Times that the matrix of costs is gone through, for the choice of a device: at some ten levels of ε.
_PASSES = 200


@dataclass(frozen=True, eq=False)
class Entropic:
    """Potentials f, g of the plan π_ij = a_i·b_j·exp((f_i + g_j − c_ij)/ε), centred so that ⟨a, f⟩ = ⟨b, g⟩.

    Attributes
    ----------
    source_potential, target_potential : arrays
        f and g.
    error : float
        Sum of the absolute differences between the plan's marginals and ``a`` and ``b``.
    """

    source_potential: Floats
    target_potential: Floats
    error: float


def sinkhorn(
    costs: Floats, a: Floats, b: Floats, *, epsilon: float, scaling: float = 0.5, tolerance: float = 1e-9
) -> Entropic:
    """Solve min_π Σ π_ij·c_ij + ε·KL(π | a ⊗ b) in the log domain, until the marginals are met.

    ε falls from the range of the costs to ``epsilon`` by the factor ``scaling``², as geomloss does for p = 2.
    Sinkhorn's sweeps converge slowly once ε is small, and their potentials are then not those of the problem; so
    Newton steps on the dual as a function of the shorter potential finish the work at each ε.

    Parameters
    ----------
    costs : (m, n) array
        Costs.
    a, b : arrays
        Positive weights, each summing to one.
    epsilon : float
        Weight of the entropy, in the unit of the costs.
    scaling : float
        Between 0 and 1: how fast ε falls.
    tolerance : float
        Largest ``error`` of an answer.

    Returns
    -------
    Entropic

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary_lab.transport.sinkhorn import sinkhorn
    >>> half = np.full(2, 0.5)
    >>> sinkhorn(np.array([[1.0, 2.0], [2.0, 3.0]]), half, half, epsilon=0.1).source_potential.round(6)
    array([0.5, 1.5])
    """
    if not (0.0 < epsilon < np.inf and 0.0 < scaling < 1.0):
        raise (
            wrong_parameter("scaling", "sinkhorn", "strictly between 0 and 1", scaling)
            if 0.0 < epsilon < np.inf
            else wrong_parameter("epsilon", "sinkhorn", "a finite number above zero", epsilon)
        )
    if len(a) < len(b):
        turned = sinkhorn(np.ascontiguousarray(costs.T), b, a, epsilon=epsilon, scaling=scaling, tolerance=tolerance)
        return Entropic(turned.target_potential, turned.source_potential, turned.error)
    xp = arrays_for(_PASSES * costs.size)
    level = span = float(np.ptp(costs))
    problem = xp.asarray(costs), xp.asarray(a), xp.asarray(b)
    g = xp.filled((len(b),), 0.0)
    while level > epsilon:
        g, _ = _solved(_Dual(*problem, level, xp), g, _ROUGH)
        level *= scaling**2
    dual = _Dual(*problem, float(epsilon), xp)
    g, error = _solved(dual, g, tolerance)
    if error > tolerance:
        raise TransportError(
            "research.entropic-unfinished",
            sources=len(a),
            targets=len(b),
            error=float(error),
            epsilon=float(epsilon),
            span=span,
        )
    f, g = xp.numpy(dual.rows(g)[0]), xp.numpy(g)
    shift = (float(a @ f) - float(b @ g)) / 2.0
    return Entropic(f - shift, g + shift, error)


@dataclass(frozen=True, eq=False)
class _Dual:
    """The concave function ⟨a, f(g)⟩ + ⟨b, g⟩ of the potential g, at one ε."""

    costs: Array
    a: Array
    b: Array
    epsilon: float
    xp: Arrays

    def rows(self, g: Array) -> tuple[Array, Array]:
        """Soft c-transform f of g, and the plan's rows, each divided by its weight."""
        P = (g - self.costs) / self.epsilon
        P += self.xp.log(self.b)
        top = self.xp.amax(P, 1)
        P -= top[:, None]
        self.xp.exp(P, out=P)
        total = P.sum(axis=1)
        P /= total[:, None]
        return -self.epsilon * (top + self.xp.log(total)), P

    def newton(self, g: Array) -> Array:
        """A step up; the same g where rounding leaves none."""
        f, P = self.rows(g)
        mass = self.a @ P
        slope = self.b - mass
        # Constants lie in its kernel, and so, almost, does every part of the plan that is almost on its own.
        curvature = self.xp.diag(mass + 1e-12 * self.b) - (P.T * self.a) @ P
        curvature += self.xp.outer(self.b, self.b)
        solution = self.xp.solved(curvature, slope)
        if solution is None:
            return g
        direction = self.epsilon * solution
        value, gain = float(self.a @ f + self.b @ g), float(slope @ direction)
        for halving in range(_HALVINGS):
            step = 0.5**halving
            trial = g + step * direction
            if float(self.a @ self.rows(trial)[0] + self.b @ trial) >= value + 1e-4 * step * gain:
                return trial
        return g


def _solved(dual: _Dual, g: Array, tolerance: float) -> tuple[Array, float]:
    """The potential g, and by how much it misses the marginal b."""
    xp, error = dual.xp, np.inf
    for step in range(_SWEEPS + _NEWTON_STEPS):
        if step > _SWEEPS:
            g = dual.newton(g)
        mass = dual.a @ dual.rows(g)[1]
        error = float(xp.abs(mass - dual.b).sum())
        if error <= tolerance:
            break
        # A sweep: it never decreases the dual, and brings back columns that a step left without mass.
        g = g + dual.epsilon * xp.log(dual.b / xp.clip(mass, np.finfo(float).tiny, None))
    return g, error
