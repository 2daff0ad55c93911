"""The forms of the coalition protocol: a sketch's message answered with groups, or a whole consensus."""

from __future__ import annotations

from dataclasses import replace

from fedbary.protocols.consensus import forms as consensus_forms
from fedbary.protocols.forms import Form, Numbers
from fedbary.protocols.sketch import forms as sketch_forms

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "averages")

EXCHANGES = {
    **consensus_forms.EXCHANGES,
    "sketch": replace(
        sketch_forms.EXCHANGES["sketch"],
        reply=Form(
            {"rows": sketch_forms.ROWS},
            {
                "group.points": Numbers(("groups", "features")),
                "group.classes": Numbers(("groups",), 0.0),
                "group.counts": Numbers(("groups",), 0.0),
                "group.scatter": Numbers((1,)),
            },
        ),
    ),
}
