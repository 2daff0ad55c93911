"""Files that are whole or not there: `write_atomically`, the one way in which a file takes another's place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def write_atomically(path: str | Path, write: Callable[[Path], object], *, mode: int = 0o666) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, which then takes its place; a reader never sees half of it.

    ``mode`` holds from the first byte on, so that what is private never lies open.

    Examples
    --------
    >>> import tempfile
    >>> from fedbary.data.atomic import write_atomically
    >>> path = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_atomically(path, lambda draft: draft.write_text("whole")).read_text()
    'whole'
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


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """What `write_arrays` wrote; nothing where there is no file."""
    import numpy as np

    if not Path(path).is_file():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}
