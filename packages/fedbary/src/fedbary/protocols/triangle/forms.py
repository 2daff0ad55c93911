"""The forms of the triangle protocol: a measure out, a measure back."""

from __future__ import annotations

from dataclasses import replace

from fedbary.protocols.forms import Exchange, Form, Numbers
from fedbary.protocols.interpolation.forms import START
from fedbary.protocols.sketch.forms import ROWS

# What a client says of itself, and nobody else can check.
CLAIMS = ("rows", "measures")

EXCHANGES = {
    "start": Exchange(
        replace(START, arrays={"eta_q": Numbers(("points", "width"))}),
        Form({"rows": ROWS}, {"eta_p": Numbers(("points", "width"))}),
    )
}
