"""The forms of the cards protocol: a card comes back, a model goes out, and shares come back."""

from __future__ import annotations

from fedbary.protocols.forms import LONGEST_TEXT, Exchange, Form, Number, Numbers, Text
from fedbary.protocols.sketch.forms import ROWS, SCHEMA, SCORED_ROWS, SCORING_MODEL
from fedbary.protocols.sketch.numbers import ABOUT_ROWS

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "class moments", "shares of bad rows")

_MODEL = Form(
    # How many times another temperature a client may choose.
    {**SCHEMA, "refine": Number(1.0, 1000.0, optional=True), "tail": Number(1.0, 20.0, optional=True)},
    {
        **SCORING_MODEL,
        "line.coefficients": Numbers(("encoded",), optional=True),
        "line.numbers": Numbers((2,), optional=True),
        **SCORED_ROWS,
    },
)

EXCHANGES = {
    "card": Exchange(
        Form(
            {
                "task": Text(20, optional=True),
                "schema": Text(LONGEST_TEXT, optional=True),
                "fingerprint": Text(64, optional=True),
            }
        ),
        Form(
            {"rows": ROWS, "card": Text(LONGEST_TEXT)},
            {
                "centre": Numbers(("width",)),
                "counts": Numbers(("classes",)),
                "sums": Numbers(("classes", "width")),
                "second": Numbers(("width", "width"), optional=True),
                "squares": Numbers(("width",), optional=True),
            },
        ),
    ),
    "fit": Exchange(
        _MODEL, Form({"temperature": Number(0.001, 100.0, optional=True), "tail": Number(1.0, 20.0, optional=True)})
    ),
    "model": Exchange(
        _MODEL,
        Form({"rows": ROWS, **{name: Number(most=1.0, optional=True) for name in ABOUT_ROWS}}),
    ),
}
