"""The forms of the agreement on a schema, with which every protocol without a reference begins."""

from __future__ import annotations

from fedbary.forms import LONGEST_TEXT, Form, Number, Numbers, Text, TextOrNumber
from fedbary.protocols.forms import Exchange

_WORD, _CHOSEN_WORD = Text(20), Text(20, optional=True)

EXCHANGES = {
    "describe": Exchange(
        Form(
            {
                "space.task": _WORD,
                "space.scaling": _WORD,
                "space.metric": _CHOSEN_WORD,
                "space.shrinkage": Number(0.0, 1.0),
                "space.projection": TextOrNumber(_WORD, Number(1, 10**6, whole=True)),
                "space.labels": _CHOSEN_WORD,
                "space.label_weight": Number(optional=True),
                "space.missing": _WORD,
            }
        ),
        Form({"description": Text(LONGEST_TEXT)}),
    ),
    "moments": Exchange(
        Form({"schema": Text(LONGEST_TEXT)}),
        Form(
            {},
            {
                "mean": Numbers(("width",)),
                "second": Numbers(("width", "width")),
                "between": Numbers(("width", "width")),
            },
        ),
    ),
}
