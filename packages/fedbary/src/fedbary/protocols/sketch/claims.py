"""Claims: numbers that a client says of itself, as far as the server can know them to be false."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.sketch.numbers import ESTIMATES
from fedbary.protocols.sketch.sketch import SketchPoints

_ROUNDING = 1e-6
# Laplace noise is larger than so many of its scales once in e^40 answers.
_MOST_SCALES = 40.0


def check_claims(numbers: Mapping[str, float], sketch: SketchPoints, epsilon: float | None) -> None:
    """Refuse numbers that no rows can have, whatever they are.

    - ``error``: a client may merge points of the sketch, which makes its error larger, up to that of one point.
    - ``lower`` and ``cost``: W² ≤ d_S² + error², so a lower end beyond that contradicts the cost.
    - ``relaxed`` and ``cost``: whichever points a row may choose among, W(P, z_s) ≤ d_S + W(sketch, z_s).
    - shares of rows: each inside its interval.
    - with ε: noise for the ε that was asked for at least, and a capped cost.
    """
    cost, lower, relaxed, error, noise = (numbers[key] for key in ("cost", "lower", "relaxed", "error", "noise"))
    slack = _MOST_SCALES * noise
    if not sketch.error * (1.0 - _ROUNDING) <= error <= _coarsest_error(sketch) * (1.0 + _ROUNDING):
        raise ProtocolError("protocols.claim-error", error=error, least=sketch.error, most=_coarsest_error(sketch))
    if lower > (cost + error**2) * (1.0 + _ROUNDING):
        raise ProtocolError("protocols.claim-ends", lower=float(np.sqrt(lower)), upper=float(np.sqrt(cost + error**2)))
    most = min(sketch.cap, (np.sqrt(cost + slack) + _reach(sketch)) ** 2 + slack)
    if relaxed > most * (1.0 + _ROUNDING):
        raise ProtocolError("protocols.claim-relaxed", relaxed=relaxed, most=float(most))
    for name in ESTIMATES:
        low, share, high = (numbers[f"{name}{end}"] for end in ("_low", "", "_high"))
        if not low <= share <= high and not np.isnan([low, share, high]).all():
            raise ProtocolError("protocols.claim-share", name=name, share=share, low=low, high=high)
    least = 0.0 if epsilon is None else sketch.cap / (numbers["rows"] * epsilon)  # half of what ε/2 needs
    if noise < least:
        raise ProtocolError("protocols.claim-noise", noise=noise, least=least)
    if noise and cost > sketch.cap * (1.0 + _ROUNDING) + slack:
        raise ProtocolError("protocols.claim-cost", cost=cost, cap=sketch.cap)


def _coarsest_error(sketch: SketchPoints) -> float:
    """The error of a sketch whose points are all merged into one."""
    centre = sketch.weights @ sketch.points
    return float(np.sqrt(sketch.weights @ (sketch.variances + ((sketch.points - centre) ** 2).sum(axis=1))))


def _reach(sketch: SketchPoints) -> float:
    """The largest W(sketch, z_s): all its mass moved to one of its points."""
    centre = sketch.weights @ sketch.points
    away = ((sketch.points - centre) ** 2).sum(axis=1)
    return float(np.sqrt(sketch.weights @ away + away.max()))
