"""The records of the interpolation protocol: a measure goes each way in a round, and a distance comes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedbary.forms import LARGEST, Number, Numbers, Record
from fedbary.protocols.forms import AGREEMENT, ROWS, Exchange, Notes, exposed
from fedbary.protocols.sketch.forms import schema
from fedbary.space.notes import FIT_CODES

# Points of a measure: more of them, each with all coordinates of a row, would not fit in memory.
_MOST_POINTS = 10**5


def points_up_to(most: int) -> Number:
    """A number of points that is not above what was asked for."""
    return Number(1, most, whole=True, tells="how many points the rows allow", claim="points that they allow")


_POINTS = Number(1, _MOST_POINTS, whole=True)
_DISTANCE = Number(most=LARGEST, tells="one distance a round", claim="their distances")
_GAMMA, _ETA_P = "up to {support} interpolated points a round{averaging}", "points between these and the rows"
_ETA_Q = "the server's interpolated points η_Q, which lie between the client's own points and the target"
_NOTES = Notes(
    FIT_CODES,
    tells="notes on classes and columns: which classes a client lacks or has beyond the target's, which columns it "
    "ignores, which lie beyond the target's or lack cells, and the share of different rows where many are copies",
)
EXCHANGES = {
    **AGREEMENT,
    "start": Exchange(
        Record(
            {
                **schema("of the target, and its scaling (means and deviations)"),
                "support": _POINTS,
                "gamma_seed": Number(0, 2**63, whole=True),
            }
        ),
        Record({"rows": ROWS, "allowed": points_up_to(_MOST_POINTS)}, notes=(_NOTES,)),
    ),
    # The first step says how many points were agreed, and brings the distance to the γ that all begin with.
    "step": Exchange(
        Record(
            {
                "support": replace(_POINTS, optional=True),
                "eta_q": Numbers(("points", "width"), tells=_ETA_Q),
                "eta_q_weights": Numbers(("points",), 0.0, 1.0, optional=True, tells=_ETA_Q),
            }
        ),
        Record(
            {
                "gamma": Numbers(("points", "width"), tells=_GAMMA, claim="measures"),
                "distance": _DISTANCE,
                "start_distance": replace(_DISTANCE, optional=True),
                "gamma_weights": Numbers(("points",), 0.0, 1.0, optional=True, tells="their masses", when="masses"),
                "eta_p": Numbers(("eta points", "width"), optional=True, tells=_ETA_P, when="eta_p"),
                "eta_p_weights": Numbers(("eta points",), 0.0, 1.0, optional=True, tells=_ETA_P, when="eta_p"),
            }
        ),
    ),
}


def warnings(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What to be careful about."""
    several = (
        "The protocol is not differentially private: averages of a few rows, and their change from round to round, "
        "still say something about these rows."
    )
    if not exposed(settings):
        return (several,)
    return (
        "This run allowed reconstruction (allow_reconstruction, or interpolation = exact): the server's points may "
        "stand for single rows, and the server can reconstruct rows from them. Use such settings only where one owner "
        "holds all the data.",
        several,
    )
