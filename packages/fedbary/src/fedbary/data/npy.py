"""NPY bytes as an array: nothing is allocated that the bytes do not hold, and nothing but numbers is read."""

from __future__ import annotations

import math

import numpy as np

_MAGIC = b"\x93NUMPY\x01\x00"
_START, _ORDER, _SHAPE, _END = "{'descr': '", "', 'fortran_order': ", ", 'shape': (", "), }"
_MOST_DIMENSIONS, _MOST_DIGITS = 8, 12


def read_npy(data: bytes) -> np.ndarray:
    """The array that `numpy.save` wrote; raises ValueError, and nothing else, for anything that it does not write.

    NumPy's own reader makes room for the shape that a header claims before it looks for the bytes, and parses the
    header as Python.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3.0))
    >>> read_npy(file.getvalue())
    array([0., 1., 2.])
    """
    end = len(_MAGIC) + 2 + int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 2], "little")
    header = data[len(_MAGIC) + 2 : end].decode("latin-1").rstrip()
    start, _, rest = header.partition(_ORDER)
    order, _, shape = rest.partition(_SHAPE)
    if not data.startswith(_MAGIC) or not start.startswith(_START) or order not in ("False", "True"):
        raise ValueError("not an array")
    if not shape.endswith(_END):
        raise ValueError("not an array")
    kind, sizes = _type(start.removeprefix(_START)), _sizes(shape.removesuffix(_END))
    if len(data) - end != kind.itemsize * math.prod(sizes):
        raise ValueError("the array is not as large as it says")
    return np.frombuffer(data, kind, offset=end).reshape(sizes, order="F" if order == "True" else "C").copy(order="K")


def _type(text: str) -> np.dtype:
    """A type of numbers, such as ``<f8``."""
    if len(text) != 3 or text[0] not in "<>|" or text[1] not in "fiub" or text[2] not in "1248":
        raise ValueError("not an array of numbers")
    try:
        return np.dtype(text)
    except TypeError as error:
        raise ValueError("not an array of numbers") from error


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > _MOST_DIMENSIONS or not all(part.isdecimal() and len(part) <= _MOST_DIGITS for part in parts):
        raise ValueError("not the shape of an array")
    return tuple(int(part) for part in parts)
