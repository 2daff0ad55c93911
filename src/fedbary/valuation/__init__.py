"""Results: what clients and rows are worth, and how that is kept."""

from fedbary.valuation.contribution import client_frame, share_bounds, shares
from fedbary.valuation.result import Valuation
from fedbary.valuation.row_values import calibrated_gradient, row_frame

__all__ = [
    "Valuation",
    "calibrated_gradient",
    "client_frame",
    "row_frame",
    "share_bounds",
    "shares",
]
