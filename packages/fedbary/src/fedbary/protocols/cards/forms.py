"""The records of the cards protocol: a card comes back, a model goes out, and evidence comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedbary.forms import LONGEST_TEXT, Number, Numbers, Record, Text, optional
from fedbary.judging.evidence import EVIDENCE
from fedbary.judging.federation import JUDGEMENT
from fedbary.protocols.forms import ROWS, SHARED, Exchange
from fedbary.protocols.sketch.forms import judging_model, schema

_ROWS_OF_EACH = "for every class the count and the sum of its {points}"
_SQUARES = "squares and products of the columns, summed over all of them"
_WEIGHTS = Numbers(
    ("weights",),
    0.0,
    1e6,
    tells="weights of a few models, by how well they fit the rows",
    claim="what its rows look like",
    when="exact",
    withheld_by=SHARED,
)
_FEW = ", no cell of which holds fewer than {min_group} rows where the server is not trusted"
_COUNTS = f"counts of how surprising labels and features are{_FEW}"
_LIKELIHOOD = "likelihood of each share of wrong labels"
_LABELS = {
    "label.counts": Numbers(("all classes",), 0.0, 1e9),
    "label.judged": Numbers(("all classes",), 0.0, 1e9),
    "label.looks": Numbers(("all classes", "all classes"), 0.0, 1.0 + 1e-9),
    "label.gain": Numbers(("all classes",), -1e6, 1e6),
    "label.numbers": Numbers((2,), -1e12, 1e12),
}
_TELLS = {
    "likelihood": _LIKELIHOOD,
    "labels": _COUNTS,
    "features": _COUNTS,
    "scatter": "how much the rows of each class scatter",
    "seen": _LIKELIHOOD,
}
_EVIDENCE = {
    name: replace(
        one, tells=_TELLS.get(name, "which class the rows of each label look like"), when="exact", withheld_by=SHARED
    )
    for name, one in optional({**EVIDENCE, **_LABELS}).items()
}
_HEADER = (
    "columns and label as they were read, classes and levels{agreed}, and whether a model may be made of this card and "
    "no other"
)
_MADE = (
    "a model that is made of the others' cards together (and the reference's, where there is one), never of a client's "
    "own: class means, and one covariance"
)
_NULL = "counts of how surprising the other clients' rows are, and from where on a row is flagged"
EXCHANGES = {
    "card": Exchange(
        Record(
            {
                "task": Text(20, optional=True),
                "schema": Text(LONGEST_TEXT, optional=True, tells="public coordinates", when="epsilon"),
                "fingerprint": Text(64, optional=True),
            }
        ),
        Record(
            {
                "rows": ROWS,
                "card": Text(LONGEST_TEXT, tells=_HEADER, public=True),
                "centre": Numbers(("width",), tells=_ROWS_OF_EACH, claim="class moments"),
                "counts": Numbers(("classes",), tells=_ROWS_OF_EACH, claim="class moments"),
                "sums": Numbers(("classes", "width"), tells=_ROWS_OF_EACH, claim="class moments"),
                "second": Numbers(("width", "width"), optional=True, tells=_SQUARES),
                "squares": Numbers(("width",), optional=True, tells=_SQUARES),
            },
            either=("second", "squares"),
        ),
    ),
    "model": Exchange(
        Record(
            {
                **schema("that cards name"),
                "alone": Number(1, 1, whole=True, optional=True),
                **judging_model(_MADE),
            }
        ),
        Record({"rows": ROWS, "weights": replace(_WEIGHTS, optional=True), **_EVIDENCE}),
    ),
    "evidence": Exchange(
        Record({"weights": replace(_WEIGHTS, tells="common weights of a few models", withheld_by="")}),
        Record(_EVIDENCE),
    ),
    "flags": Exchange(
        Record(optional(JUDGEMENT, tells=_NULL, when="exact")),
    ),
}


def warnings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What to be careful about."""
    if (epsilon := settings.get("epsilon")) is not None:
        return (
            f"Each card is ({epsilon:g}, {settings.get('delta', 0.0):g})-differentially private, for the replacement "
            "of one row; its row count is public. A card of another version of the rows costs as much again.",
        )
    if settings.get("policy") == "guarded" or settings.get("networked"):
        return (
            "The cards are exact, so they are not differentially private. Unless its owner's policy trusts the server, "
            f"a client leaves out what fewer than {settings.get('min_group')} different rows tell: a guard, not a "
            "proof; epsilon gives one.",
        )
    return (
        "The cards are exact and nothing was left out, so the server can read what single rows tell: those of small "
        "classes, and lone levels. policy = guarded leaves that out, and epsilon bounds what can be learned.",
    )
