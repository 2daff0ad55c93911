"""Methods from the literature, trainings, comparisons and experiments: the core does not know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.satellites import names_of

if TYPE_CHECKING:
    from fedbary_lab.paper import PaperInterpolation, published
    from fedbary_lab.registration import register_client_method, register_row_method

__all__ = ["PaperInterpolation", "published", "register_client_method", "register_row_method"]

# Imported when first used: the modules in here import this package, and most of them need none of these.
_HOMES = {
    "PaperInterpolation": "fedbary_lab.paper",
    "published": "fedbary_lab.paper",
    "register_client_method": "fedbary_lab.registration",
    "register_row_method": "fedbary_lab.registration",
}
__getattr__ = names_of(__name__, _HOMES)
