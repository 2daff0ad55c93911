"""A client answers each question once: asked twice the same way it repeats itself, asked differently it refuses.

A server that may ask the same rows in many ways can combine the answers; so the first question of a kind binds it.
"""

from __future__ import annotations

from fedbary.errors import PrivacyError
from fedbary.protocols.messages import Message


class Once:
    """Remembers the digest of the first message of every kind."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def check(self, message: Message) -> None:
        """Refuse a message whose kind was answered before with another content."""
        digest = message.digest
        if self._seen.setdefault(message.kind, digest) != digest:
            raise PrivacyError(
                f"The server asked for '{message.kind}' again in another way; only the first is answered in a run."
            )

    def to_text(self) -> str:
        """For a state."""
        return "\n".join(f"{kind} {digest}" for kind, digest in self._seen.items())

    def from_text(self, text: str) -> None:
        """Restore what `to_text` wrote."""
        self._seen = {kind: digest for kind, _, digest in (line.partition(" ") for line in text.splitlines())}
