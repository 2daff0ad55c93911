"""The vocabulary of protocols: what goes to a client, what comes back, and the two halves that talk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedbary.errors import ProtocolError
from fedbary.protocols.host import ALONE, Host

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.data.table import Table
    from fedbary.space.options import Space
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rules import RowRules

Scalar = str | int | float | bool
State = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Message:
    """Server to client. ``round`` makes repeated delivery harmless; ``kind`` says what is asked."""

    kind: str
    round: int
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """A hash of what the message asks; computed once for all clients of a process, as a model is large."""
        content = hashlib.sha256(repr((self.kind, sorted(self.scalars.items()))).encode())
        for name, array in sorted(self.arrays.items()):
            content.update(f"{name} {array.shape} {array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


@dataclass(frozen=True, eq=False)
class Reply:
    """Client to server: everything that leaves the owner's machine is in here."""

    round: int
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A client that did not answer, and why, in words that are safe to pass on."""

    reason: str


class Settings(Protocol):
    """A protocol as a user chooses it: frozen settings that make its two halves."""

    @property
    def name(self) -> str:
        """What the protocol is called in results and on the command line."""
        ...

    def space(self, space: Space | None) -> Space:
        """The space that the protocol recommends, with what the user chose."""
        ...

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
        ...

    def client(self, table: Table, *, rules: RowRules, seed: int) -> ClientProtocol:
        """A data owner's half; ``seed`` is the owner's secret."""
        ...


class ServerProtocol(Protocol):
    """The coordinator's half: a pure state machine."""

    def tasks(self) -> Mapping[str, Message]:
        """Messages to deliver now; empty when done."""
        ...

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`."""
        ...

    def so_far(self) -> Mapping[str, float]:
        """Distances of the clients as they are known now, for whoever watches; only what `result` would show, too."""
        ...

    def state(self) -> State:
        """Everything needed to go on after this round."""
        ...

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        ...

    def result(self) -> Valuation:
        """The valuation, once `tasks` is empty."""
        ...


class ClientProtocol(Protocol):
    """A data owner's half: answers messages, keeps its rows and row values to itself."""

    def answer(self, message: Message) -> Reply:
        """Answer one message; raises a FedbaryError where the owner's policy or data forbid it."""
        ...

    def row_values(self) -> pd.DataFrame:
        """Values of the owner's rows; never part of a `Reply`."""
        ...

    def state(self) -> State:
        """Everything needed to go on after this round."""
        ...

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        ...


def text_array(text: str) -> np.ndarray:
    """Text as an array of its UTF-8 bytes, so that states hold nothing but arrays."""
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8).copy()


def array_text(array: np.ndarray) -> str:
    """Inverse of `text_array`."""
    return np.asarray(array, dtype=np.uint8).tobytes().decode("utf-8")


def finite_array(reply: Reply, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """An array of a reply, refused unless it has this shape (None: any length) and is finite."""
    array = reply.arrays.get(name)
    if array is None:
        raise ProtocolError(f"the reply lacks the array '{name}'")
    array = np.asarray(array)
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not fits:
        raise ProtocolError(
            f"the array '{name}' of the reply has shape {array.shape} and type {array.dtype}, expected floats of shape "
            f"{shape}"
        )
    if not np.isfinite(array).all():
        raise ProtocolError(f"the array '{name}' of the reply holds values that are not finite")
    return np.asarray(array, dtype=np.float64)


def finite_scalar(reply: Reply, name: str, *, least: float = 0.0, most: float = np.inf) -> float:
    """A number of a reply, refused unless it lies in its range."""
    number = reply.scalars.get(name)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not least <= number <= most:
        raise ProtocolError(f"the number '{name}' of the reply is {number!r}, expected one in [{least:g}, {most:g}]")
    if not np.isfinite(number):
        raise ProtocolError(f"the number '{name}' of the reply is not finite")
    return float(number)


def scalar_text(reply: Reply, name: str, *, longest: int) -> str:
    """A text of a reply, refused if it is missing or too long."""
    text = reply.scalars.get(name)
    if not isinstance(text, str) or len(text) > longest:
        raise ProtocolError(f"the text '{name}' of the reply is missing or longer than {longest} characters")
    return text
