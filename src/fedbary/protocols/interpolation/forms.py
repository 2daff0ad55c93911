"""The forms of the interpolation protocol: a measure goes each way in a round, and a distance comes with it."""

from __future__ import annotations

from fedbary.protocols import agreement_forms
from fedbary.protocols.forms import LARGEST, Exchange, Form, Number, Numbers
from fedbary.protocols.sketch.forms import ROWS, SCHEMA

# Points of a measure: more of them, each with all coordinates of a row, would not fit in memory.
_SUPPORT = Number(1, 10**5, whole=True, optional=True)
_SEED = Number(0, 2**63, whole=True)
START = Form({**SCHEMA, "support": _SUPPORT, "gamma_seed": _SEED})
_MEASURES = {
    "gamma": Numbers(("points", "width")),
    "gamma_weights": Numbers(("points",), 0.0, 1.0, optional=True),
    "eta_p": Numbers(("eta points", "width"), optional=True),
    "eta_p_weights": Numbers(("eta points",), 0.0, 1.0, optional=True),
}

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "measures", "their distances")

EXCHANGES = {
    **agreement_forms.EXCHANGES,
    "start": Exchange(START, Form({"distance": Number(most=LARGEST), "rows": ROWS}, _MEASURES)),
    "step": Exchange(
        Form(
            {}, {"eta_q": Numbers(("points", "width")), "eta_q_weights": Numbers(("points",), 0.0, 1.0, optional=True)}
        ),
        Form({"distance": Number(most=LARGEST)}, _MEASURES),
    ),
    "scores": Exchange(
        Form(
            {},
            {
                "reference": Numbers(("points", "width"), optional=True),
                "reference_weights": Numbers(("points",), 0.0, 1.0, optional=True),
                "scores": Numbers(("eta points",), optional=True),
            },
        )
    ),
}
