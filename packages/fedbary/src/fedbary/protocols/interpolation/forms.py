"""The forms of the interpolation protocol: a measure goes each way in a round, and a distance comes with it."""

from __future__ import annotations

from dataclasses import replace

from fedbary.forms import LARGEST, Form, Number, Numbers
from fedbary.protocols import agreement_forms
from fedbary.protocols.forms import Exchange
from fedbary.protocols.sketch.forms import ROWS, SCHEMA

# Points of a measure: more of them, each with all coordinates of a row, would not fit in memory.
_MOST_POINTS = 10**5


def points_up_to(most: int) -> Number:
    """A number of points that is not above what was asked for."""
    return Number(1, most, whole=True)


_POINTS = points_up_to(_MOST_POINTS)
_SUPPORT = replace(_POINTS, optional=True)
DISTANCE = Number(most=LARGEST)
_SEED = Number(0, 2**63, whole=True)
_MEASURES = {
    "gamma": Numbers(("points", "width")),
    "gamma_weights": Numbers(("points",), 0.0, 1.0, optional=True),
    "eta_p": Numbers(("eta points", "width"), optional=True),
    "eta_p_weights": Numbers(("eta points",), 0.0, 1.0, optional=True),
}

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "points that they allow", "measures", "their distances")

EXCHANGES = {
    **agreement_forms.EXCHANGES,
    "start": Exchange(
        Form({**SCHEMA, "support": _POINTS, "gamma_seed": _SEED}), Form({"rows": ROWS, "allowed": _POINTS})
    ),
    # The first step says how many points were agreed, and brings the distance to the γ that all begin with.
    "step": Exchange(
        Form(
            {"support": _SUPPORT},
            {"eta_q": Numbers(("points", "width")), "eta_q_weights": Numbers(("points",), 0.0, 1.0, optional=True)},
        ),
        Form({"distance": DISTANCE, "start_distance": replace(DISTANCE, optional=True)}, _MEASURES),
    ),
}
