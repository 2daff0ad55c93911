"""`Follower`: a growing ``events.jsonl``, read as far as it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fedbary.engines.events import NAME
from fedbary.engines.live.records import Logged, logged

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 22  # the distances of fifty thousand clients
_HEAD = 256


class Follower:
    r"""Reads what was added to a folder's ``events.jsonl`` since the last look.

    Parameters
    ----------
    folder : path
        The run's output folder. Neither it nor the file needs to be there yet.

    Notes
    -----
    Lines that are not whole yet wait for the next look. Lines that are broken or absurdly long are skipped and counted
    in ``broken``. A file that was begun anew, by another run, is read from its start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = _Position()

    @property
    def broken(self) -> int:
        """Lines of this file that were skipped."""
        return self._at.broken

    def read(self) -> Iterator[Logged | None]:
        """Events since the last look, oldest first; None says that the file is another one and starts here."""
        path = inside(self._folder, NAME)
        if path is None:
            return
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if self._at.offset and not self._at.is_in(status, file.read(_HEAD)):
                    self._at = _Position()
                    yield None
                self._at.file = status.st_dev, status.st_ino
                file.seek(self._at.offset)
                while self._at.offset < status.st_size and (chunk := file.read(_CHUNK)):
                    yield from self._entries(chunk)
        except OSError:  # removed by a run that begins, or not to be read: there may be more at the next look
            return

    def _entries(self, chunk: bytes) -> Iterator[Logged]:
        at = self._at
        at.offset += len(chunk)
        at.head = at.head if len(at.head) == _HEAD else (at.head + chunk)[:_HEAD]
        *lines, rest = (at.rest + chunk).split(b"\n")
        for line in lines:
            entry = None if at.too_long else logged(line)
            if entry is not None:
                yield entry
            elif at.too_long or line.strip():
                at.broken += 1
            at.too_long = False
        at.too_long = at.too_long or len(rest) > _LONGEST_LINE
        at.rest = b"" if at.too_long else rest


@dataclass
class _Position:
    """How far a file was read: its number and its first bytes, the line that is not whole yet."""

    file: tuple[int, int] = (0, 0)
    head: bytes = b""
    offset: int = 0
    rest: bytes = b""
    too_long: bool = False
    broken: int = 0

    def is_in(self, status: os.stat_result, head: bytes) -> bool:
        """Whether the file is still the same; a new one may have the old one's number, but not its first line."""
        same = self.file == (status.st_dev, status.st_ino) and head.startswith(self.head)
        return same and status.st_size >= self.offset


def inside(folder: Path, name: str) -> Path | None:
    """A plain file of the folder; None where there is none, or a link leads out of the folder."""
    try:
        path = (folder / name).resolve(strict=True)
        return path if path.is_file() and path.is_relative_to(folder.resolve()) else None
    except (OSError, RuntimeError):  # not there; links in a circle
        return None
