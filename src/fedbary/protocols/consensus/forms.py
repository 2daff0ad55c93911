"""The forms of the consensus protocol."""

from __future__ import annotations

from fedbary.protocols import agreement_forms
from fedbary.protocols.consensus.party import PROFILE
from fedbary.protocols.forms import LARGEST, MOST_ROWS, Exchange, Form, Numbers
from fedbary.protocols.sketch.forms import CAP, COST, ROWS, SCHEMA, SCORING_MODEL

_SUPPORT = Form(
    {},
    {
        "support": Numbers(("starts", "points", "width")),
        "sizes": Numbers(("groups",), 0, 10**6, whole=True),
    },
)
_SHAPED = Numbers(("groups",), 0.0, 1.0)

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "averages", "distances", "quality")

EXCHANGES = {
    **agreement_forms.EXCHANGES,
    "start": Exchange(
        Form(SCHEMA),
        Form(
            {},
            {
                "counts": Numbers(("groups",), 0.0, MOST_ROWS),
                "means": Numbers(("groups", "width")),
                "variances": Numbers(("groups", "width"), 0.0),
            },
        ),
    ),
    "step": Exchange(
        _SUPPORT,
        Form(
            {},
            {
                "points": Numbers(("starts", "points", "width")),
                "costs": Numbers(("starts", "groups"), 0.0, LARGEST**2),
                "shaped": _SHAPED,
            },
        ),
    ),
    "centroids": Exchange(
        _SUPPORT,
        Form(
            {},
            {
                "centroids": Numbers(("points", "features")),
                "within": Numbers(("features", "features")),
                "shaped": _SHAPED,
            },
        ),
    ),
    "final": Exchange(
        Form(
            {"cap": CAP},
            {"points": Numbers(("points", "width")), "weights": Numbers(("points",), 0.0, 1.0), **SCORING_MODEL},
        ),
        Form(
            {"rows": ROWS, "cost": COST, "relaxed": COST},
            {"label": Numbers(("labels",)), "feature": Numbers(("scores",))},
            {"labels": range(PROFILE + 1), "scores": range(PROFILE + 1)},
        ),
    ),
    "scores": Exchange(
        Form({}, {"others.label": Numbers(("labels",)), "others.feature": Numbers(("scores",))}),
    ),
}
