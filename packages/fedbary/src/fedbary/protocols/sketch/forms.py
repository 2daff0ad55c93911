"""The forms of the sketch protocol: one message, one reply of scalars."""

from __future__ import annotations

import sys

from fedbary.forms import LONGEST_TEXT, MOST_ROWS, Form, Number, Numbers, Text, optional
from fedbary.judging.discriminant import DISCRIMINANT
from fedbary.judging.federation import EVIDENCE
from fedbary.judging.model import REFERENCE, WEIGHTS
from fedbary.judging.scoring.line import LINE
from fedbary.privacy.noise import GRID
from fedbary.protocols.forms import Exchange
from fedbary.protocols.sketch.numbers import ABOUT_ROWS, NOISY, PLACE
from fedbary.protocols.sketch.sketch import POINTS

# Squared distances and what is made of them; far beyond all tables, and yet their squares are finite.
COST = Number(most=1e30)
ROWS = Number(1, MOST_ROWS, whole=True)
SCHEMA = {"schema": Text(LONGEST_TEXT), "fingerprint": Text(64)}
CAP = Number(sys.float_info.min, 1e30)
# What `fedbary.judging.scoring.ScoringModel.to_arrays` makes; the model itself checks how its parts fit together.
_MODEL_SHAPES: dict[str, tuple[str | int, ...]] = {
    "classes": ("letters",),
    "numbers": (3,),
    "log_prior": ("classes",),
    "mean": ("features",),
    "directions": ("features", "directions"),
    "variances": ("directions",),
    "coefficients": ("linear", "features"),
    "offsets": ("linear",),
    "scales": ("parts", "classes"),
    "biases": ("parts", "classes"),
    "blend": ("parts",),
    "shared.points": ("shared", "directions"),
    "shared.classes": ("shared",),
    "shared.weights": ("shared",),
    "class.points": ("class points", "class directions"),
    "class.classes": ("class points",),
    "class.weights": ("class points",),
    "class.roots": ("classes", "class directions", "class directions"),
    "class.logdet": ("classes",),
    # The points have one coordinate more: what the directions leave out.
    "class.directions": ("directions", "class projections"),
}
SCORING_MODEL = {
    f"model.{name}": Numbers(shape, whole=name.endswith("classes"), optional=True)
    for name, shape in _MODEL_SHAPES.items()
}


# What `fedbary.judging.model.JudgingModel.to_arrays` makes.
JUDGING_MODEL = {
    "classes": Numbers(("letters of classes",), whole=True, optional=True),
    **optional(DISCRIMINANT, "others."),
    **optional(REFERENCE),
    **SCORING_MODEL,
    **optional(LINE),
    **optional(WEIGHTS),
    **optional(EVIDENCE, "held."),
}

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "distances with their intervals", "excess", "closeness", "shares of bad rows and missing cells")

EXCHANGES = {
    "sketch": Exchange(
        Form(
            {
                **SCHEMA,
                "cap": CAP,
                "odd_from": Number(most=GRID, whole=True, optional=True),
                "doubted_from": Number(most=GRID, whole=True, optional=True),
            },
            {**POINTS, **JUDGING_MODEL},
        ),
        Form(
            {
                "rows": ROWS,
                "cost": COST,
                "lower": COST,
                "relaxed": COST,
                "error": COST,
                "noise": Number(most=COST.most, optional=True),
                **{name: Number(most=1.0, optional=True) for name in (*ABOUT_ROWS, *NOISY)},
                **{name: Number(most=1e6, optional=True) for name in PLACE},
            }
        ),
    )
}
