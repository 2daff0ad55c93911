"""The forms of the cards protocol: a card comes back, a model goes out, and evidence comes back."""

from __future__ import annotations

from fedbary.forms import LONGEST_TEXT, Form, Number, Numbers, Text, optional
from fedbary.judging.federation import EVIDENCE, JUDGEMENT
from fedbary.protocols.forms import Exchange
from fedbary.protocols.sketch.forms import JUDGING_MODEL, ROWS, SCHEMA

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "class moments", "what its rows look like")

_WEIGHTS = Numbers(("weights",), 0.0, 1e6)
_EVIDENCE = {
    **optional(EVIDENCE),
    "label.counts": Numbers(("all classes",), 0.0, 1e9, optional=True),
    "label.judged": Numbers(("all classes",), 0.0, 1e9, optional=True),
    "label.looks": Numbers(("all classes", "all classes"), 0.0, 1.0 + 1e-9, optional=True),
    "label.gain": Numbers(("all classes",), -1e6, 1e6, optional=True),
    "label.numbers": Numbers((2,), -1e12, 1e12, optional=True),
}

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
            either=("second", "squares"),
        ),
    ),
    "model": Exchange(
        Form({**SCHEMA, "alone": Number(1, 1, whole=True, optional=True)}, JUDGING_MODEL),
        Form({"rows": ROWS}, {"weights": Numbers(("weights",), 0.0, 1e6, optional=True), **_EVIDENCE}),
    ),
    "evidence": Exchange(Form({}, {"weights": _WEIGHTS}), Form({}, _EVIDENCE)),
    "flags": Exchange(
        Form({}, optional(JUDGEMENT)),
    ),
}
