"""The vocabulary of protocols: what goes to a client, what comes back, and the two halves that talk."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from fedbary.errors import PrivacyError, as_note
from fedbary.forms import array_text, text_array
from fedbary.notes import Fact, Note
from fedbary.protocols.host import ALONE, Host
from fedbary.space.notes import FIT_CODES, MOST_COLUMNS, is_plausible
from fedbary.strict_json import read_json
from fedbary.valuation.outcome import Outcome, Status
from fedbary.wording import on_one_line

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.protocols.halves import Trust
    from fedbary.protocols.released_table import Release
    from fedbary.space.options import Space
    from fedbary.valuation.result import Valuation
    from fedbary.valuation.rows import RowRules, ScoredRows

Scalar = str | int | float | bool
# What is raised on a data owner's machine has a code of one of these areas; all others are the server's to say.
_OWNERS_AREAS = frozenset(
    {"data", "engines", "guard", "internal", "protocols", "schema", "settings", "transport", "valuation", "views"}
)
_LONGEST_CLAIM, _LONGEST_FAILURE = 60, 2**20
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
        return injective_digest(self.kind, self.scalars, self.arrays)


@dataclass(frozen=True, eq=False)
class Reply:
    """Client to server: everything that leaves the owner's machine is in here."""

    round: int
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A client that did not answer, and why; over a network only the redacted note leaves."""

    note: Note
    status: Status = Status.FAILED

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What a client raised: a refusal where its owner's rules forbid the answer, else a fault."""
        return cls(as_note(error), Status.REFUSED if isinstance(error, PrivacyError) else Status.FAILED)

    @classmethod
    def claimed(cls, note: Note, status: Status) -> Failure:
        """What another machine says of its failure; raises ValueError for what is not a data owner's to say.

        Texts among the facts are cut: long enough for a name or a setting, too short for a letter to the coordinator.
        """
        area, _, _ = note.code.partition(".")
        nested = any(isinstance(fact, Note) for fact in note.facts.values())
        if status is Status.OK or area not in _OWNERS_AREAS or nested:
            raise ValueError("not a failure")
        short = {name: _cut(fact) for name, fact in note.public.items()}
        return cls(Note(note.code, short), status)

    @property
    def outcome(self) -> Outcome:
        """How the run went for this client."""
        return Outcome(self.status, (self.note,))

    def redacted(self) -> Failure:
        """As another party may hear it."""
        return Failure(self.note.redacted(), self.status)

    def to_array(self) -> np.ndarray:
        """For a state."""
        return text_array(json.dumps(self.outcome.to_json()))

    @classmethod
    def from_array(cls, array: np.ndarray) -> Failure:
        """What `to_array` gave."""
        outcome = Outcome.from_json(read_json(array_text(array), longest=_LONGEST_FAILURE))
        return cls(outcome.notes[0], outcome.status)


def _cut(fact: Fact) -> Fact:
    if isinstance(fact, tuple):
        return tuple(on_one_line(one, _LONGEST_CLAIM) for one in fact)
    return on_one_line(fact, _LONGEST_CLAIM) if isinstance(fact, str) else fact


NO_ANSWER = Failure(Note("protocols.no-answer"), Status.SILENT)


@runtime_checkable
class Settings(Protocol):
    """A protocol as a user chooses it: a frozen dataclass of settings that makes its two halves."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """What the protocol is called in results and on the command line."""

    @property
    def min_group(self) -> int:
        """Fewest different rows behind anything that leaves a party."""

    @property
    def trust(self) -> Trust:
        """What a client trusts a server with."""

    @property
    def needs_reference(self) -> bool:
        """Whether there is nothing to compare clients with unless validation rows are given."""

    @property
    def row_values_after(self) -> frozenset[str]:
        """After which messages a client's row values are final; where there is none, the engine says when."""

    def space(self, space: Space | None) -> Space:
        """The space that the protocol recommends, with what the user chose."""

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

    def client(self, table: Table, *, rules: RowRules, seed: int, release: Release | None = None) -> ClientProtocol:
        """A data owner's half; ``seed`` is the owner's secret, and ``release`` says what exact answers are made of."""


class ServerProtocol(Protocol):
    """The coordinator's half: a pure state machine."""

    def tasks(self) -> Mapping[str, Message]:
        """Messages to deliver now; empty when done."""

    def absorb(self, replies: Mapping[str, Reply | Failure]) -> None:
        """Take the answers to `tasks`."""

    def so_far(self) -> Mapping[str, float]:
        """Distances of the clients as they are known now, for whoever watches; only what `result` would show, too."""

    def state(self) -> State:
        """Everything needed to go on after this round."""

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""

    def result(self) -> Valuation:
        """The valuation, once `tasks` is empty."""


class ClientProtocol(Protocol):
    """A data owner's half: answers messages, keeps its rows and row values to itself."""

    def answer(self, message: Message) -> Reply:
        """Answer one message; raises a FedbaryError where the owner's policy or data forbid it."""

    def row_values(self) -> ScoredRows:
        """Values of the owner's rows; never part of a `Reply`."""

    def state(self) -> State:
        """Everything needed to go on after this round."""

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""


def injective_digest(kind: str, scalars: Mapping[str, Scalar], arrays: Mapping[str, np.ndarray]) -> str:
    """A hash that two contents share only if they are the same: every part stands behind its type and its length.

    Without the lengths the name of an array could hold what looks like another array, and two messages would count
    as one.

    Examples
    --------
    >>> injective_digest("step", {"a": 1}, {}) == injective_digest("step", {"a": True}, {})
    False
    """
    content = hashlib.sha256()

    def add(mark: bytes, *parts: bytes | memoryview) -> None:
        content.update(mark + struct.pack("<Q", len(parts)))
        for part in parts:
            content.update(struct.pack("<Q", len(part)))
            content.update(part)

    add(b"kind", _bytes(kind))
    for name, scalar in sorted(scalars.items()):
        plain = scalar.item() if isinstance(scalar, np.generic) else scalar
        number = struct.pack("<d", plain) if isinstance(plain, float) else _bytes(str(plain))
        add(b"scalar", _bytes(name), _bytes(type(plain).__name__), number)
    for name, array in sorted(arrays.items()):
        flat = np.ascontiguousarray(array).reshape(-1)
        sizes = struct.pack(f"<{array.ndim}Q", *array.shape)
        add(b"array", _bytes(name), _bytes(array.dtype.str), sizes, flat.view(np.uint8).data)
    return content.hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # whatever came must have a digest


def reply_notes(reply: Reply) -> tuple[Note, ...]:
    """What a client says of how its table fits; only codes that are a client's to send, and public facts.

    Each code comes once; of columns there may be several.
    """
    public = [note.redacted() for note in reply.notes if note.code in FIT_CODES]
    own = {(note.code, str(note.facts.get("column"))): note for note in public if is_plausible(note)}
    by_code: dict[str, list[Note]] = {}
    for note in own.values():
        by_code.setdefault(note.code, []).append(note)
    return tuple(note for notes in by_code.values() for note in notes[:MOST_COLUMNS])
