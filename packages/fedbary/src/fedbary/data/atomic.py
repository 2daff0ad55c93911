"""Files that are whole or not there: `write_atomically`, the one way in which a file takes another's place."""

from __future__ import annotations

import os
import secrets
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


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
    """A folder that only its owner can look into; those above it that are missing are made like that, too.

    Examples
    --------
    >>> import tempfile
    >>> from fedbary.data.atomic import private_folder
    >>> oct(private_folder(tempfile.mkdtemp() + "/a/b").parent.stat().st_mode & 0o777)
    '0o700'
    """
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
    from fedbary.data.npy import read_npy

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
