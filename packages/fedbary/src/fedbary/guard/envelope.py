"""What stands on every message besides its content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Envelope:
    """What stands on every message besides its content: the session, a message's place in it, and who answers.

    ``step`` counts a client's answers in a session, so that a client which lost its state is noticed. ``nonce`` is
    drawn for each client and message: a reply that repeats it comes from whom was asked. ``flagged`` is how many rows
    the node flagged, where its owner shares that.
    """

    session: str
    kind: str = ""
    round: int = 0
    step: int = 0
    name: str = ""
    settings: str = ""
    nonce: str = ""
    flagged: int | None = None
