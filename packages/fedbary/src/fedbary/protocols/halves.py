"""`TwoHalves`: settings that make a protocol's server and client, whose modules are imported when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from fedbary.protocols.host import ALONE, Host
from fedbary.space.options import RowRules, Space

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.messages import ClientProtocol, Message, Reply, ServerProtocol, State
    from fedbary.protocols.released_table import Release
    from fedbary.valuation.rows import ScoredRows


class TwoHalves:
    """What settings of all protocols do alike; ``halves`` are the classes of server and client, by name."""

    halves: ClassVar[tuple[str, str]]

    def server(
        self,
        clients: Sequence[str],
        reference: Table | None,
        space: Space,
        *,
        rules: RowRules,
        seed: int,
        host: Host = ALONE,
    ) -> ServerProtocol:
        """The coordinator's half."""
        half = resolve_name(self.halves[0])
        made: ServerProtocol = half(self, clients, reference, space, rules=rules, seed=seed, host=host)
        return made

    def client(self, table: Table, *, rules: RowRules, seed: int, release: Release | None = None) -> ClientProtocol:
        """A data owner's half; ``seed`` is the owner's secret, and ``release`` says what exact answers are made of."""
        made: ClientProtocol = resolve_name(self.halves[1])(self, table, rules=rules, seed=seed, release=release)
        return made


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
