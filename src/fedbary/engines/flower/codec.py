"""What is packed as Flower's records, and back; whatever does not fit is refused with a reason."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbary.data.npy import read_npy
from fedbary.engines.packed import LONGEST_NAME, MOST_ARRAYS, MOST_BYTES, Packed, is_scalar
from fedbary.errors import ProtocolError
from fedbary.protocols.messages import Scalar
from fedbary.wording import as_plain

VERSION = 3
_HEAD, _SCALARS, _ARRAYS, _NUMPY = "fedbary", "scalars", "arrays", "numpy.ndarray"


def pack(packed: Packed) -> RecordDict:
    """As Flower's records."""
    return RecordDict(
        {
            _HEAD: ConfigRecord({**packed.head, "version": VERSION}),
            _SCALARS: ConfigRecord(dict(packed.scalars)),
            # Not all of NumPy's orders survive: rows first is what np.save keeps as it is.
            _ARRAYS: ArrayRecord({name: Array(np.ascontiguousarray(array)) for name, array in packed.arrays.items()}),
        }
    )


def unpack(content: RecordDict) -> Packed:
    """Back from Flower's records; refuses what is none of fedbary's or too large."""
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
