"""A client whose data could not be read: it takes part, fails with its reason, and bothers nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.protocols.messages import Message, Reply, State

if TYPE_CHECKING:
    from fedbary.valuation.rows import ScoredRows


class UnusableClient:
    """Answers every message with the error that made the data unusable."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._state: State = {}

    def answer(self, message: Message) -> Reply:  # noqa: ARG002 - any message gets the same answer
        """Raise the error."""
        raise self._error

    def row_values(self) -> ScoredRows:
        """Raise the error."""
        raise self._error

    def state(self) -> State:
        """What it was restored with, for when the data can be used again."""
        return self._state

    def restore(self, state: State) -> None:
        """Keep it; there is nothing to go on with."""
        self._state = state
