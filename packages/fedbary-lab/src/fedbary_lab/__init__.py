"""Methods from the literature, trainings, comparisons and experiments: the core does not know them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary_lab.paper import PaperInterpolation, published
    from fedbary_lab.registration import register_client_method, register_row_method

__all__ = ["PaperInterpolation", "published", "register_client_method", "register_row_method"]


def __getattr__(name: str) -> Any:
    # Imported when first used: the modules in here import this package, and most of them need none of these.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("fedbary_lab." + ("registration" if "register" in name else "paper")), name)
