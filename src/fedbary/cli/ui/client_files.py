"""From what a user typed to one file per client."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fedbary.errors import DataError


def client_paths(patterns: Iterable[str], *, apart_from: Path | None = None) -> dict[str, Path]:
    """Find the file of each client in paths, quoted globs and folders; a file named twice counts once.

    The reference often lies beside the clients' files. It is left out, as its distance to itself, zero, would
    take the whole of the shares.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("north.csv", "south.csv", "validation.csv"):
    ...     (folder / name).touch()
    >>> list(client_paths([str(folder)], apart_from=folder / "validation.csv"))
    ['north', 'south']
    """
    from fedbary.data.files import client_files

    found: dict[Path, Path] = {}
    for pattern in patterns:
        found |= {path.resolve(): path for path in client_files(pattern).values()}
    if apart_from is not None:
        found.pop(apart_from.resolve(), None)
    if not found:
        raise DataError("there is no client besides the reference: give at least one more file")
    # A file system's name may not be UTF-8, which no result file could hold.
    return {_writable(name): path for name, path in client_files(list(found.values())).items()}


def _writable(name: str) -> str:
    return name.encode("utf-8", errors="backslashreplace").decode("utf-8")
