"""What is packed as Flower's records, and back; whatever does not fit is refused with a reason."""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbary.engines.packed import VERSION, Packed, checked

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
    head, scalars, arrays = (content.get(part) for part in (_HEAD, _SCALARS, _ARRAYS))
    own = [isinstance(part, ConfigRecord) for part in (head, scalars)]
    found = _bytes(arrays) if isinstance(arrays, ArrayRecord) else None
    return checked(head if own[0] else None, scalars if own[1] else None, found)


def _bytes(arrays: ArrayRecord) -> dict[str, bytes | None]:
    return {str(name): array.data if array.stype == _NUMPY else None for name, array in arrays.items()}
