"""Messages and replies as Flower's records, and back; whatever does not fit is refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbary.data.npy import read_npy
from fedbary.errors import ProtocolError
from fedbary.guard.envelope import Envelope
from fedbary.notes import Note, notes_from_text, notes_to_text
from fedbary.protocols.forms import LONGEST_TEXT
from fedbary.protocols.messages import Failure, Message, Reply, Scalar
from fedbary.valuation.outcome import Status
from fedbary.wording import as_plain, is_clean

VERSION = 3
# A reply beyond this is an error or an attack; the largest honest one is a few megabytes.
MOST_BYTES = 512 * 2**20
_MOST_ARRAYS, _LONGEST_NAME = 200, 40
_LONGEST_NOTE, _LONGEST_NOTES = 10_000, 20_000
_HEAD, _SCALARS, _ARRAYS, _NUMPY = "fedbary", "scalars", "arrays", "numpy.ndarray"


def pack_message(message: Message, envelope: Envelope) -> RecordDict:
    """A protocol's message for a node."""
    head = {"kind": message.kind, "round": message.round, "settings": envelope.settings, "step": envelope.step}
    return _pack({**head, "session": envelope.session, "nonce": envelope.nonce}, message.scalars, message.arrays)


def unpack_message(content: RecordDict) -> tuple[Message, Envelope]:
    """A protocol's message as the node got it."""
    head, scalars, arrays = _unpack(content)
    envelope = _envelope(head)
    return Message(envelope.kind, envelope.round, scalars, arrays), envelope


def pack_reply(reply: Reply | Failure, envelope: Envelope) -> RecordDict:
    """A node's answer, or as a code with public facts why there is none."""
    head: dict[str, Scalar] = {"session": envelope.session, "step": envelope.step, "name": envelope.name}
    head |= {"kind": envelope.kind, "nonce": envelope.nonce}
    if envelope.flagged is not None:
        head["flagged"] = envelope.flagged
    if isinstance(reply, Failure):
        failure = {"failure": str(reply.status), "note": reply.note.redacted().to_text()}
        return _pack({**head, **failure, "round": envelope.round}, {}, {})
    if reply.notes:
        head["notes"] = notes_to_text(tuple(note.redacted() for note in reply.notes))
    return _pack({**head, "round": reply.round}, reply.scalars, reply.arrays)


def unpack_reply(content: RecordDict, asked: Envelope) -> tuple[Reply | Failure, Envelope]:
    """A node's answer to what was asked; raises where it does not belong to that message."""
    head, scalars, arrays = _unpack(content)
    envelope = _envelope(head)
    if envelope.session != asked.session:
        raise ProtocolError("engines.reply-of-another-run")
    if (envelope.kind, envelope.round) != (asked.kind, asked.round):
        kind = as_plain(envelope.kind, _LONGEST_NAME)
        raise ProtocolError("engines.reply-not-asked", kind=kind, round=envelope.round)
    if envelope.nonce != asked.nonce:  # Flower checks who sends, but not whose answer it is said to be
        raise ProtocolError("engines.reply-of-another-node")
    if "failure" in head:
        return _failure(head), envelope
    if envelope.step != asked.step:
        raise ProtocolError("engines.node-lost-its-state", given=envelope.step, expected=asked.step)
    return Reply(envelope.round, scalars, arrays, _notes(head)), envelope


def _pack(head: Mapping[str, Any], scalars: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> RecordDict:
    plain: dict[str, Any] = {name: _plain(value) for name, value in scalars.items()}
    return RecordDict(
        {
            _HEAD: ConfigRecord({**head, "version": VERSION}),
            _SCALARS: ConfigRecord(plain),
            # Not all of NumPy's orders survive: rows first is what np.save keeps as it is.
            _ARRAYS: ArrayRecord({name: Array(np.ascontiguousarray(array)) for name, array in arrays.items()}),
        }
    )


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, which is what a config record takes."""
    return value.item() if isinstance(value, np.generic) else value


def _unpack(content: RecordDict) -> tuple[dict[str, Any], dict[str, Scalar], dict[str, np.ndarray]]:
    if not isinstance(content.get(_HEAD), ConfigRecord):
        raise ProtocolError("engines.not-ours")
    head = dict(content[_HEAD])
    if head.get("version") != VERSION:
        version = as_plain(repr(head.get("version")), _LONGEST_NAME)
        raise ProtocolError("engines.other-version", version=version, own=VERSION)
    scalars, arrays = content.get(_SCALARS), content.get(_ARRAYS)
    if not isinstance(scalars, ConfigRecord) or not isinstance(arrays, ArrayRecord):
        raise ProtocolError("engines.incomplete")
    if len(arrays) > _MOST_ARRAYS or sum(len(array.data) for array in arrays.values()) > MOST_BYTES:
        raise ProtocolError("engines.too-large", megabytes=MOST_BYTES // 2**20)
    plain: dict[str, Scalar] = {}
    for name, value in scalars.items():
        if not _is_scalar(value):
            raise ProtocolError("engines.not-a-scalar", name=as_plain(str(name), _LONGEST_NAME))
        plain[str(name)] = value
    try:
        return head, plain, {str(name): _array(array) for name, array in arrays.items()}
    except ValueError as error:
        raise ProtocolError("engines.array-unreadable") from error


def _is_scalar(value: object) -> TypeGuard[Scalar]:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and is_clean(value)
    return isinstance(value, (int, float, bool))


def _array(array: Array) -> np.ndarray:
    if array.stype != _NUMPY:
        raise ValueError("not an array of NumPy's")
    return read_npy(array.data)


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
    """What a node says of its failure; foreign words are never shown, so that only codes count that are known here."""
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
