"""Files that are whole or not there, and arrays in them: nothing but numbers is read, and nothing that is not there."""

from __future__ import annotations

import math
import os
import secrets
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"\x93NUMPY\x01\x00"
_START, _ORDER, _SHAPE, _END = "{'descr': '", "', 'fortran_order': ", ", 'shape': (", "), }"
_MOST_DIMENSIONS, _MOST_DIGITS = 8, 12


def write_atomically(path: str | Path, write: Callable[[Path], object], *, mode: int = 0o666) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, which then takes its place; a reader never sees half of it.

    ``mode`` holds from the first byte on, so that what is private never lies open.
    """
    home = Path(path)
    draft = home.with_name(f".{home.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.touch(mode, exist_ok=False)
        write(draft)
        os.replace(draft, home)  # noqa: PTH105 - os.replace is atomic on every platform
    finally:
        draft.unlink(missing_ok=True)
    return home


def private_folder(path: str | Path) -> Path:
    """A folder that only its owner can look into; those above it that are missing are made like that, too."""
    home = Path(path)
    if not home.parent.is_dir():
        private_folder(home.parent)
    home.mkdir(exist_ok=True, mode=0o700)
    if home.stat().st_mode & 0o077:
        home.chmod(0o700)
    return home


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], *, mode: int = 0o666) -> Path:
    """Plain arrays as one NPZ file, whole or not there."""
    import numpy as np

    def write(draft: Path) -> None:
        with draft.open("wb") as file:  # given a path, NumPy would add a suffix to it
            np.savez(file, allow_pickle=False, **arrays)

    return write_atomically(path, write, mode=mode)


def read_arrays(path: str | Path, *, most_bytes: int = 2**40) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote; nothing where there is no file, and a ValueError where it is another one.

    ``most_bytes`` bounds what the arrays take in memory, whatever they take in the file.
    """
    if not Path(path).is_file():
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > most_bytes:
                raise ValueError("the arrays are too large")
            if len({part.filename for part in parts}) < len(parts):
                raise ValueError("a name comes twice")
            return {part.filename.removesuffix(".npy"): read_npy(archive.read(part)) for part in parts}
    except Exception as error:  # damage can show in the archive, in zlib or in an array
        raise ValueError(f"not a file of arrays: {error}") from error


def read_npy(data: bytes) -> np.ndarray:
    """The array that `numpy.save` wrote; raises ValueError, and nothing else, for anything that it does not write.

    NumPy's own reader makes room for the shape that a header claims before it looks for the bytes, and parses the
    header as Python.
    """
    import numpy as np

    end = len(_MAGIC) + 2 + int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 2], "little")
    header = data[len(_MAGIC) + 2 : end].decode("latin-1").rstrip()
    start, _, rest = header.partition(_ORDER)
    order, _, shape = rest.partition(_SHAPE)
    framed = data.startswith(_MAGIC) and start.startswith(_START) and shape.endswith(_END)
    if not framed or order not in ("False", "True"):
        raise ValueError("not an array")
    kind, sizes = start.removeprefix(_START), [part.strip() for part in shape.removesuffix(_END).split(",")]
    sizes = [size for size in sizes if size]
    if len(kind) != 3 or kind[0] not in "<>|" or kind[1] not in "fiub" or kind[2] not in "1248":
        raise ValueError("not an array of numbers")
    if len(sizes) > _MOST_DIMENSIONS or not all(size.isdecimal() and len(size) <= _MOST_DIGITS for size in sizes):
        raise ValueError("not the shape of an array")
    try:
        dtype = np.dtype(kind)
    except TypeError as error:
        raise ValueError("not an array of numbers") from error
    lengths = tuple(map(int, sizes))
    if len(data) - end != dtype.itemsize * math.prod(lengths):
        raise ValueError("the array is not as large as it says")
    array = np.frombuffer(data, dtype, offset=end).reshape(lengths, order="F" if order == "True" else "C")
    return array.copy(order="K")
