"""The first-message rule: the first message of a kind is answered, and no other of that kind.

A server that may ask the same rows in many ways can combine the answers; so the first message of a kind binds it.
Asked twice the same way, a client repeats itself.
"""

from __future__ import annotations

import json

from fedbary.errors import PrivacyError
from fedbary.protocols.messages import Message


class FirstMessage:
    """Remembers the digest of the first message of every kind."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def check(self, message: Message) -> None:
        """Refuse a message whose kind was answered before with another content."""
        digest = message.digest
        if self._digests.setdefault(message.kind, digest) != digest:
            raise PrivacyError("protocols.asked-otherwise", kind=message.kind)

    def to_text(self) -> str:
        """For a state."""
        return json.dumps(self._digests)

    def from_text(self, text: str) -> None:
        """Restore what `to_text` wrote."""
        self._digests = dict(json.loads(text))
