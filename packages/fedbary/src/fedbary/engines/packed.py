"""A message or a reply on its way: a head, scalars and arrays, checked alike whatever carries them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, TypeGuard

import numpy as np

from fedbary.data.atomic import read_npy
from fedbary.errors import ProtocolError
from fedbary.forms import LONGEST_TEXT
from fedbary.guard.guarded_client import refusal
from fedbary.guard.node import Envelope, answer, refuse
from fedbary.guard.node_config import NodeConfig
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.messages import Failure, Message, Reply, Scalar
from fedbary.valuation.outcome import Status
from fedbary.wording import as_plain, is_clean

VERSION = 3
# What is larger is an error or an attack; the largest honest one is a few megabytes.
MOST_BYTES = 512 * 2**20
MOST_ARRAYS = 200
LONGEST_NAME = 40
_LONGEST_NOTE, _LONGEST_NOTES = 10_000, 20_000


@dataclass(frozen=True, eq=False)
class Packed:
    """What stands on a message or a reply, and what is in it."""

    head: Mapping[str, Any]
    scalars: Mapping[str, Scalar] = field(default_factory=dict)
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """As dictionaries of texts, numbers and bytes, for networks that carry those."""
        arrays = {name: npy_bytes(array) for name, array in self.arrays.items()}
        return {"head": {**self.head, "version": VERSION}, "scalars": dict(self.scalars), "arrays": arrays}

    @classmethod
    def from_plain(cls, content: object) -> Packed:
        """What `to_plain` gave; whatever else a network delivers is refused."""
        if not isinstance(content, Mapping):
            raise ProtocolError("engines.not-ours")
        return checked(*(content.get(part) for part in ("head", "scalars", "arrays")))


def checked(head: object, scalars: object, arrays: object) -> Packed:
    """A message or a reply of the parts that a carrier delivered, its arrays as NPY bytes.

    Refuses what is none of fedbary's, too large, or neither numbers nor texts.
    """
    if not isinstance(head, Mapping):
        raise ProtocolError("engines.not-ours")
    if head.get("version") != VERSION:
        version = as_plain(repr(head.get("version")), LONGEST_NAME)
        raise ProtocolError("engines.other-version", version=version, own=VERSION)
    if not isinstance(scalars, Mapping) or not isinstance(arrays, Mapping):
        raise ProtocolError("engines.incomplete")
    if not all(isinstance(data, bytes) for data in arrays.values()):
        raise ProtocolError("engines.array-unreadable")
    if len(arrays) > MOST_ARRAYS or sum(len(data) for data in arrays.values()) > MOST_BYTES:
        raise ProtocolError("engines.too-large", megabytes=MOST_BYTES // 2**20)
    plain: dict[str, Scalar] = {}
    for name, value in scalars.items():
        if not is_scalar(value):
            raise ProtocolError("engines.not-a-scalar", name=as_plain(str(name), LONGEST_NAME))
        plain[str(name)] = value
    try:
        return Packed(head, plain, {str(name): read_npy(data) for name, data in arrays.items()})
    except ValueError as error:
        raise ProtocolError("engines.array-unreadable") from error


def npy_bytes(array: np.ndarray) -> bytes:
    """As `numpy.save` writes it; not all of NumPy's orders survive, and rows first is what it keeps as it is."""
    file = BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


def packed_message(message: Message, envelope: Envelope) -> Packed:
    """A protocol's message for a client."""
    head = {"kind": message.kind, "round": message.round, "settings": envelope.settings, "step": envelope.step}
    head |= {"session": envelope.session, "nonce": envelope.nonce}
    return Packed(head, _plain(message.scalars), message.arrays)


def unpacked_message(packed: Packed) -> tuple[Message, Envelope]:
    """A protocol's message as the client got it."""
    envelope = _envelope(packed.head)
    return Message(envelope.kind, envelope.round, packed.scalars, packed.arrays), envelope


def packed_reply(reply: Reply | Failure, envelope: Envelope) -> Packed:
    """A client's answer, or as a code with public facts why there is none."""
    head: dict[str, Scalar] = {"session": envelope.session, "step": envelope.step, "name": envelope.name}
    head |= {"kind": envelope.kind, "nonce": envelope.nonce}
    if envelope.flagged is not None:
        head["flagged"] = envelope.flagged
    if isinstance(reply, Failure):
        failure = {"failure": str(reply.status), "note": reply.note.redacted().to_text()}
        return Packed({**head, **failure, "round": envelope.round})
    if reply.notes:
        head["notes"] = notes_to_text(tuple(note.redacted() for note in reply.notes))
    return Packed({**head, "round": reply.round}, _plain(reply.scalars), reply.arrays)


def unpacked_reply(packed: Packed) -> tuple[Reply | Failure, Envelope]:
    """A client's answer, whatever was asked."""
    head, envelope = packed.head, _envelope(packed.head)
    if "failure" in head:
        return _failure(head), envelope
    return Reply(envelope.round, packed.scalars, packed.arrays, _notes(head)), envelope


def require_answer_to(asked: Envelope, envelope: Envelope, found: Reply | Failure) -> None:
    """Refuse an answer that does not belong to this message."""
    if envelope.session != asked.session:
        raise ProtocolError("engines.reply-of-another-run")
    if (envelope.kind, envelope.round) != (asked.kind, asked.round):
        kind = as_plain(envelope.kind, LONGEST_NAME)
        raise ProtocolError("engines.reply-not-asked", kind=kind, round=envelope.round)
    if envelope.nonce != asked.nonce:  # a carrier may check who sends, but not whose answer it is said to be
        raise ProtocolError("engines.reply-of-another-node")
    if isinstance(found, Reply) and envelope.step != asked.step:
        raise ProtocolError("engines.node-lost-its-state", given=envelope.step, expected=asked.step)


def is_scalar(value: object) -> TypeGuard[Scalar]:
    """Whether it is a number or a text that can be written down."""
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and is_clean(value)
    return isinstance(value, (int, float, bool))


def _plain(scalars: Mapping[str, Any]) -> dict[str, Scalar]:
    """NumPy's numbers as Python's, which is what carriers take."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in scalars.items()}


def _envelope(head: Mapping[str, Any]) -> Envelope:
    return Envelope(
        session=_text(head, "session", 64),
        kind=_text(head, "kind", 64),
        round=_number(head, "round"),
        step=_number(head, "step"),
        # It becomes the name of a file, a cell and a line of a terminal.
        name=as_plain(_text(head, "name", 200), 200).strip(),
        settings=_text(head, "settings", 2**20),
        nonce=_text(head, "nonce", 64),
        flagged=_number(head, "flagged") if "flagged" in head else None,
    )


def _failure(head: Mapping[str, Any]) -> Failure:
    """What a client says of its failure; foreign words are never shown, so that only codes count that are known."""
    try:
        note = Note.from_text(_text(head, "note", _LONGEST_NOTE))
        return Failure.claimed(note, Status(head["failure"]))
    except ValueError as error:
        raise ProtocolError("engines.failure-unreadable") from error


def _notes(head: Mapping[str, Any]) -> tuple[Note, ...]:
    try:
        return notes_from_text(_text(head, "notes", _LONGEST_NOTES))
    except ValueError as error:
        raise ProtocolError("engines.notes-unreadable") from error


def _text(head: Mapping[str, Any], key: str, longest: int) -> str:
    value = head.get(key, "")
    if not isinstance(value, str) or len(value) > longest:
        raise ProtocolError("engines.not-a-text", key=key, longest=longest)
    return value


def _number(head: Mapping[str, Any], key: str) -> int:
    value = head.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise ProtocolError("engines.not-a-number", key=key)
    return value


def answered(received: Callable[[], Packed], config: Callable[[], NodeConfig]) -> Packed:
    """Answer one of the server's messages; nothing but the answer leaves, whatever happens.

    Parameters
    ----------
    received : callable
        Unpacks the message; what it raises is refused, and stands in the owner's ledger.
    config : callable
        The owner's config, which may be unusable, too.
    """
    reply: Reply | Failure
    own = Envelope("")
    try:
        try:
            asked, envelope = unpacked_message(received())
        except Exception as error:
            reply = refuse(error, config())
        else:
            own = replace(envelope, settings="")
            reply, own = answer(asked, envelope, config())
    except Exception as error:  # a network would send its text, with local paths, to the server
        reply = refusal(error)
    return packed_reply(reply, own)
