"""Results: what clients and rows are worth, and how that is kept."""

from fedbary.valuation.contribution import share_bounds, shares
from fedbary.valuation.frames import client_frame, row_frame
from fedbary.valuation.gradients import VARIANTS, calibrated_gradient, gradient_towards
from fedbary.valuation.result import Valuation

__all__ = [
    "VARIANTS",
    "Valuation",
    "calibrated_gradient",
    "client_frame",
    "gradient_towards",
    "row_frame",
    "share_bounds",
    "shares",
]
