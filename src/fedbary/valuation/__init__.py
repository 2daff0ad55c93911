"""Results: what clients and rows are worth, and how that is kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary.valuation.contribution import share_bounds, shares
    from fedbary.valuation.frames import client_frame, row_frame
    from fedbary.valuation.gradients import calibrated_gradient, gradient_towards
    from fedbary.valuation.result import Valuation

__all__ = [
    "Valuation",
    "calibrated_gradient",
    "client_frame",
    "gradient_towards",
    "row_frame",
    "share_bounds",
    "shares",
]

# Imported when first used: settings must cost nothing where only their options are listed.
_HOMES = {
    "contribution": ("share_bounds", "shares"),
    "frames": ("client_frame", "row_frame"),
    "gradients": ("calibrated_gradient", "gradient_towards"),
    "result": ("Valuation",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
