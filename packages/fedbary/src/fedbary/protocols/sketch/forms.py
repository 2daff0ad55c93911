"""The records of the sketch protocol: one message, one reply of scalars."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedbary.forms import LONGEST_TEXT, Field, Number, Numbers, Record, Text, optional
from fedbary.judging.discriminant import DISCRIMINANT
from fedbary.judging.evidence import EVIDENCE
from fedbary.judging.lines import LINE
from fedbary.judging.model import REFERENCE, WEIGHTS
from fedbary.privacy.noise import GRID
from fedbary.protocols.forms import FIT_NOTES, ROWS, SHARED, Exchange
from fedbary.protocols.sketch.sketch import POINTS

# Squared distances and what is made of them; far beyond all tables, and yet their squares are finite.
_COST = 1e30
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
_SCORING_MODEL = {
    f"model.{name}": Numbers(shape, whole=name.endswith("classes")) for name, shape in _MODEL_SHAPES.items()
}
_CLASSES = {"classes": Numbers(("letters of classes",), whole=True)}


OF_REFERENCE = "a scoring model of the reference (means, covariances and a linear model of its classes)"


def schema(whose: str) -> dict[str, Field]:
    """A schema as it is sent, which names all classes and categories of somebody's."""
    return {
        "schema": Text(LONGEST_TEXT, tells=f"the schema, which names all classes and categories {whose}"),
        "fingerprint": Text(64),
    }


def judging_model(made: str, reference: str = "reference") -> dict[str, Field]:
    """What `fedbary.judging.model.JudgingModel.to_arrays` makes; ``made`` says in words of what."""
    of_reference = {"tells": OF_REFERENCE, "when": reference}
    surprises = "how surprising the reference's rows are to the model, with which a client's own are compared"
    return {
        **optional(_CLASSES, tells=made),
        **optional(DISCRIMINANT, "others.", tells=made),
        **optional(REFERENCE, **of_reference),
        **optional(_SCORING_MODEL, **of_reference),
        **optional(LINE, **of_reference),
        **optional(WEIGHTS, tells=made),
        **optional(EVIDENCE, "held.", tells=surprises, when=reference),
    }


_SHARES = "shares of bad rows and missing cells"


def _share(tells: str, when: str = "exact", most: float = 1.0) -> Number:
    return Number(most=most, optional=True, tells=tells, claim=_SHARES, when=when, withheld_by=SHARED)


def _interval(name: str, tells: str) -> dict[str, Field]:
    return {name + end: _share(f"estimated share of {tells} with its interval") for end in ("", "_low", "_high")}


_SKETCH = (
    "a sketch of the reference: {sketch_points} means of at least {min_group} different rows each, with their masses "
    "and variances"
)
_MERGED = "error of the sketch as it was used, which shows how far its points were merged"
_DISTANCE = "distance to the sketch with a lower end"
_LIMIT = Number(
    most=GRID, whole=True, optional=True, when="epsilon", tells="from which cost on a row is doubted or odd"
)
EXCHANGES = {
    "sketch": Exchange(
        Record(
            {
                **schema("of the reference"),
                "cap": Number(sys.float_info.min, _COST, tells=_SKETCH),
                "odd_from": _LIMIT,
                "doubted_from": _LIMIT,
                **{name: replace(one, tells=_SKETCH) for name, one in POINTS.items()},
                **judging_model(
                    "a scoring model of the reference (means, covariances and a linear model of its classes)", ""
                ),
            }
        ),
        Record(
            {
                "rows": ROWS,
                "cost": Number(most=_COST, tells=_DISTANCE, claim="distances with their intervals"),
                "lower": Number(most=_COST, tells=_DISTANCE),
                "relaxed": Number(most=_COST, tells="mean cost of the rows", claim="excess and closeness"),
                "error": Number(
                    most=_COST, tells="error of the sketch as it was used, by how far points were merged", public=True
                ),
                "noise": Number(most=_COST, optional=True, tells="scale of the noise", when="epsilon", public=True),
                **_interval("wrong_labels", "wrong labels"),
                **_interval("odd_features", "odd features"),
                "missing": _share("share of missing cells", ""),
                "doubted": _share("share of rows whose label is doubted", "epsilon"),
                "odd": _share("share of odd rows", "epsilon"),
                "shift": _share("how far the values lie from where the reference expects them", most=1e6),
                "blur": _share("how many times the rows scatter as the reference's", most=1e6),
            },
            notes=FIT_NOTES,
        ),
    )
}


def warnings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What to be careful about."""
    epsilon = settings.get("epsilon")
    if epsilon is not None:
        return (
            f"The numbers of each client are together {epsilon:g}-differentially private, for the replacement of one "
            "row; its row count is public. Every further run with the same rows costs as much again.",
        )
    exact = "The numbers are exact, so they are not differentially private"
    if settings.get("policy") == "coarsen":
        return (
            f"{exact}. Each client kept them to sums over at least {settings.get('min_group')} different rows "
            "(policy = coarsen): a guard, not a proof; epsilon gives one. Answers to several sketches, or in several "
            "runs, could be subtracted from each other.",
        )
    if settings.get("networked"):
        return (
            f"{exact}. Unless its owner's policy trusts the server, a node keeps them to sums over different rows "
            "(coarsen), and answers one question: a guard, not a proof; epsilon gives one.",
        )
    return (
        f"{exact}, and a dishonest server could choose its sketch to read single rows; policy = coarsen guards against "
        "that, and epsilon bounds what can be learned.",
    )
