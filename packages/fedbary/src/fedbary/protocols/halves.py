"""`TwoHalves`: settings that make a protocol's server and client, and say what a client trusts a server with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

from fedbary.protocols.host import ALONE, Host
from fedbary.space.options import RowRules, Space

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.messages import ClientProtocol, Message, Reply, ServerProtocol, State
    from fedbary.protocols.released_table import Release
    from fedbary.valuation.rows import ScoredRows


@dataclass(frozen=True)
class Exact:
    """A server that is trusted gets sums of all rows, to the last digit."""

    epsilon: ClassVar[float] = 0.0
    delta: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Guarded:
    """Nothing leaves that fewer than ``min_group`` different rows could be read from: a guard, not a proof."""

    min_group: int = 5
    epsilon: ClassVar[float] = 0.0
    delta: ClassVar[float] = 0.0


@dataclass(frozen=True)
class Private:
    """(ε, δ)-differential privacy."""

    epsilon: float
    delta: float = 0.0


# What a client trusts a server with; settings such as ``Cards(epsilon=1)`` are the shorthand of it.
Trust = Exact | Guarded | Private


class TwoHalves:
    """What settings of all protocols do alike; ``halves`` are the classes of server and client, by name.

    Their modules are imported when they are needed.
    """

    halves: ClassVar[tuple[str, str]]
    min_group: int

    @property
    def trust(self) -> Trust:
        """What a client with these settings trusts a server with."""
        if (epsilon := getattr(self, "epsilon", None)) is not None:
            return Private(epsilon, getattr(self, "delta", 0.0))
        trusted = getattr(self, "policy", "") == "trusted" or getattr(self, "allow_reconstruction", False)
        return Exact() if trusted else Guarded(self.min_group)

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
