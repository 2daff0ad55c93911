"""Messages and replies as Flower's records, and back; whatever does not fit is refused with a reason."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbary.data.npy import read_npy
from fedbary.engines.packed import (
    LONGEST_NAME,
    MOST_ARRAYS,
    MOST_BYTES,
    Packed,
    is_scalar,
    packed_message,
    packed_reply,
    require_answer_to,
    unpacked_message,
    unpacked_reply,
)
from fedbary.errors import ProtocolError
from fedbary.guard.envelope import Envelope
from fedbary.protocols.messages import Failure, Message, Reply, Scalar
from fedbary.wording import as_plain

VERSION = 3
_HEAD, _SCALARS, _ARRAYS, _NUMPY = "fedbary", "scalars", "arrays", "numpy.ndarray"


def pack_message(message: Message, envelope: Envelope) -> RecordDict:
    """A protocol's message for a node."""
    return _pack(packed_message(message, envelope))


def unpack_message(content: RecordDict) -> tuple[Message, Envelope]:
    """A protocol's message as the node got it."""
    return unpacked_message(_unpack(content))


def pack_reply(reply: Reply | Failure, envelope: Envelope) -> RecordDict:
    """A node's answer, or as a code with public facts why there is none."""
    return _pack(packed_reply(reply, envelope))


def unpack_reply(content: RecordDict, asked: Envelope) -> tuple[Reply | Failure, Envelope]:
    """A node's answer to what was asked; raises where it does not belong to that message."""
    found, envelope = unpacked_reply(_unpack(content))
    require_answer_to(asked, envelope, found)
    return found, envelope


def _pack(packed: Packed) -> RecordDict:
    return RecordDict(
        {
            _HEAD: ConfigRecord({**packed.head, "version": VERSION}),
            _SCALARS: ConfigRecord(dict(packed.scalars)),
            # Not all of NumPy's orders survive: rows first is what np.save keeps as it is.
            _ARRAYS: ArrayRecord({name: Array(np.ascontiguousarray(array)) for name, array in packed.arrays.items()}),
        }
    )


def _unpack(content: RecordDict) -> Packed:
    if not isinstance(content.get(_HEAD), ConfigRecord):
        raise ProtocolError("engines.not-ours")
    head = dict(content[_HEAD])
    if head.get("version") != VERSION:
        version = as_plain(repr(head.get("version")), LONGEST_NAME)
        raise ProtocolError("engines.other-version", version=version, own=VERSION)
    scalars, arrays = content.get(_SCALARS), content.get(_ARRAYS)
    if not isinstance(scalars, ConfigRecord) or not isinstance(arrays, ArrayRecord):
        raise ProtocolError("engines.incomplete")
    if len(arrays) > MOST_ARRAYS or sum(len(array.data) for array in arrays.values()) > MOST_BYTES:
        raise ProtocolError("engines.too-large", megabytes=MOST_BYTES // 2**20)
    plain: dict[str, Scalar] = {}
    for name, value in scalars.items():
        if not is_scalar(value):
            raise ProtocolError("engines.not-a-scalar", name=as_plain(str(name), LONGEST_NAME))
        plain[str(name)] = value
    try:
        return Packed(head, plain, {str(name): _array(array) for name, array in arrays.items()})
    except ValueError as error:
        raise ProtocolError("engines.array-unreadable") from error


def _array(array: Array) -> np.ndarray:
    if array.stype != _NUMPY:
        raise ValueError("not an array of NumPy's")
    return read_npy(array.data)
