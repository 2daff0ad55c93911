"""What each party learned from a run, in plain words and from its settings alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Learned:
    """What the server, the clients and nobody learned, and what to be careful about."""

    server: tuple[str, ...]
    clients: tuple[str, ...]
    nobody: tuple[str, ...]
    warnings: tuple[str, ...]


def learned(settings: Mapping[str, Any]) -> Learned | None:
    """Say who learned what in the interpolation protocol; None for a protocol this module does not know.

    Examples
    --------
    >>> learned({"protocol": "interpolation", "support": 100, "min_group": 5}).server[0]
    'How many rows each client has.'
    """
    if settings.get("protocol") != "interpolation":
        return None
    exposed = bool(settings.get("allow_reconstruction")) or settings.get("interpolation") == "exact"
    with_reference = settings.get("reference_rows") is not None
    return Learned(_server(settings, exposed, with_reference), _clients(settings, with_reference), *_limits(exposed))


def _server(settings: Mapping[str, Any], exposed: bool, with_reference: bool) -> tuple[str, ...]:
    points = f"up to {settings['support']} interpolated points a round"
    behind = "" if exposed else f", each averaging at least {settings['min_group']} different rows"
    agreed = (
        "Each client's column names, means and variances, and its frequent categories and classes: "
        "without a reference, the common scaling was agreed from these."
    )
    scored = (
        "The points η_P between the client's rows and its interpolated points, to score them."
        if _scores(settings)
        else ""
    )
    facts = (
        "How many rows each client has.",
        "Notes on classes and columns: which classes a client lacks or has beyond the target's, and which columns "
        "it ignores.",
        "" if with_reference else agreed,
        f"From each client {points}{behind}.",
        scored,
        "From each client one distance a round.",
    )
    return tuple(fact for fact in facts if fact)


def _clients(settings: Mapping[str, Any], with_reference: bool) -> tuple[str, ...]:
    target = "reference" if with_reference else "federation"
    facts = [
        f"The schema: columns, classes and the scaling (means and deviations) of the {target}.",
        "The server's interpolated points η_Q, which lie between the client's own points and the target.",
    ]
    if settings.get("gradient") == "access":
        facts.append("The reference itself, as points of the common space: gradient = access sends it to every client.")
    return tuple(facts)


def _limits(exposed: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    nobody = ("The raw rows of another party: none was sent. Row values were computed where the rows are.",)
    warnings = [
        "The protocol is not differentially private: averages of a few rows, and their change from round to round, "
        "still say something about these rows."
    ]
    if exposed:
        nobody = ("No row was sent as such, but see the warning.",)
        warnings.insert(
            0,
            "This run allowed reconstruction (allow_reconstruction, or interpolation = exact): the server's points may "
            "stand for single rows, and the server can reconstruct rows from them. Use such settings only where one "
            "owner holds all the data.",
        )
    return nobody, tuple(warnings)


def _scores(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("gradient", "")).startswith("server")
