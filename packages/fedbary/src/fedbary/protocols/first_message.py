"""The first-message rule: the first message of a kind is answered, and no other of that kind.

A server that may ask the same rows in many ways can combine the answers; so the first message of a kind binds it.
Asked twice the same way, a client repeats itself.
"""

from __future__ import annotations

import json

from fedbary.data.table import Table
from fedbary.errors import PrivacyError
from fedbary.protocols.messages import Message
from fedbary.space.k_anonymous import k_anonymous_rows


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


class ReleasedRows:
    """The k-anonymous table that all of a client's sums are made from; the first message fixes its label's kind.

    With the label once as classes and once as a number, two sums would differ by the rows of small classes.
    """

    def __init__(self, table: Table, *, min_group: int) -> None:
        self._table, self._min_group = table, min_group
        self._released: Table | None = None
        self.kind = ""

    def of(self, kind: str) -> Table:
        """The released rows, for a label of this kind."""
        if self.kind not in ("", kind):
            raise PrivacyError("protocols.label-kind-changed", kind=kind, first=self.kind)
        self.kind = kind
        if self._released is None:
            self._released = k_anonymous_rows(self._table, kind, min_group=self._min_group)
        return self._released
