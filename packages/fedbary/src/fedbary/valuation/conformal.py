"""Conformal p-values of scores, and flags with a false-discovery rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Beyond this quantile of the calibration scores the tail is taken to be exponential, for ranking only.
_TAIL = 0.95


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of clean rows, with weights where the client's class mix differs from theirs.

    ``p_values`` are the conformal ones: p = (w(y) + Σ_i w_i·1[s_i ≥ s]) / (w(y) + Σ_i w_i), which with equal
    weights is (1 + #{s_i ≥ s}) / (n + 1). ``surprise`` is −log of a smoothed survival function, which unlike
    the p-value still tells rows apart beyond the largest calibration score.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation.conformal import Calibration
    >>> Calibration.of(np.arange(9.0)).p_values(np.array([8.5, 4.0, -1.0]))
    array([0.1, 0.6, 1. ])
    """

    scores: Floats
    above: Floats
    total: float
    threshold: float
    excess: float

    @classmethod
    def of(cls, scores: Floats, weights: Floats | None = None, *, least_excess: float = 0.0) -> Calibration:
        """Prepare calibration scores; weights are uniform if left out, the tail is ``least_excess`` long at least."""
        order = np.argsort(scores)
        values = np.asarray(scores, dtype=float)[order]
        mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)[order]
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
        total = float(mass.sum())
        cut = int(np.searchsorted(np.cumsum(mass), _TAIL * total))
        cut = min(cut, len(values) - 1)
        tail_mass = float(mass[cut:].sum())
        excess = float((mass[cut:] * (values[cut:] - values[cut])).sum()) / max(tail_mass, 1e-12)
        spread = float(values.std()) if len(values) > 1 else 1.0
        return cls(values, above, total, float(values[cut]), max(excess, least_excess, 1e-6 * spread, 1e-12))

    def p_values(self, scores: Floats, weights: Floats | None = None) -> Floats:
        """Conformal p-values of scores, NaN without one; ``weights`` are those of the tested rows."""
        own = np.ones(len(scores)) if weights is None else weights
        reached = self.above[np.searchsorted(self.scores, scores, side="left")]
        p = np.minimum((reached + own) / np.maximum(self.total + own, 1e-300), 1.0)
        return np.asarray(np.where(np.isfinite(scores), p, np.nan))

    def surprise(self, scores: Floats) -> Floats:
        """−log of the share of clean rows that score as high, strictly increasing in the score; −inf without one."""
        # Between two calibration scores the survival function is interpolated, beyond the cut it decays on.
        middle = np.interp(scores, self.scores, (self.above[:-1] + 1.0) / (self.total + 1.0))
        below = np.exp(np.minimum(scores - self.scores[0], 0.0)) * 1e-9  # keeps rows under all scores in order
        # Of equal scores np.interp takes the last.
        start = (self.above[np.searchsorted(self.scores, self.threshold, side="right") - 1] + 1.0) / (self.total + 1.0)
        tail = -np.log(start) + (scores - self.threshold) / self.excess
        surprise = np.where(scores > self.threshold, tail, -np.log(middle) + below)
        return np.asarray(np.where(np.isfinite(scores), surprise, -np.inf))


def adjusted(p_values: Floats) -> Floats:
    """Benjamini–Hochberg's adjusted p-values times Storey's share of clean rows; untested rows stay NaN.

    Flagging those at most q keeps the false-discovery rate at q. The share is (1 + #{p > ½}) / (m/2).

    Examples
    --------
    >>> import numpy as np
    >>> adjusted(np.array([0.001, 0.002, 0.003, 0.9])).round(4)
    array([0.004, 0.004, 0.004, 0.9  ])
    """
    found, tested = np.full(len(p_values), np.nan), np.isfinite(p_values)
    if tested.any():
        p = p_values[tested]
        clean = min(1.0, (1.0 + float((p > 0.5).sum())) / (0.5 * len(p)))
        order = np.argsort(-p, kind="stable")
        ratios = p[order] * (len(p) / np.arange(len(p), 0, -1))
        back = np.empty_like(p)
        back[order] = np.minimum.accumulate(ratios)
        found[tested] = clean * np.minimum(back, 1.0)
    return found


def class_weights(counts: Floats, reference_counts: Floats) -> Floats:
    """w_y = (client's share of class y) / (reference's share), for every class of the reference."""
    own, theirs = (part / max(float(part.sum()), 1e-300) for part in (counts, reference_counts))
    return np.asarray(np.where(theirs > 0, own / np.maximum(theirs, 1e-12), 0.0))
