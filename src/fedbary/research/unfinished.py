"""Work in pieces that outlives an interruption: each finished piece is kept in a folder until all are done.

`LocalEngine` keeps a run's rounds (`fedbary.engines.checkpoint`); this is for comparisons and trainings, whose pieces
are methods and models.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.space.row_identity import row_keys

NAME = "unfinished"


class Unfinished:
    """Finished pieces of work that is not done yet.

    Parameters
    ----------
    folder : path, optional
        Where the result will be; the pieces are in its folder ``unfinished``. Without it nothing is kept.
    identity : callable
        Gives all that the pieces depend on: those of other data or settings are not found.

    Examples
    --------
    >>> import tempfile
    >>> work = Unfinished(tempfile.mkdtemp(), lambda: {"seed": 0})
    >>> work.keep("mr", lambda place: (place / "score.txt").write_text("7"))
    >>> (work.find("mr") / "score.txt").read_text(), work.find("gtg")
    ('7', None)
    >>> work.clear()
    """

    def __init__(self, folder: str | Path | None, identity: Callable[[], Mapping[str, Any]]) -> None:
        self._place: Path | None = None
        if folder is not None:
            text = json.dumps(identity(), sort_keys=True, default=str)
            digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:20]
            self._place = Path(folder) / NAME / digest

    def find(self, piece: str) -> Path | None:
        """The folder of a finished piece, or None."""
        if self._place is None or not (self._place / piece).is_dir():
            return None
        return self._place / piece

    def keep(self, piece: str, write: Callable[[Path], object]) -> None:
        """Let ``write`` fill the piece's folder, which is there as a whole or not at all."""
        if self._place is None:
            return
        draft = self._place / f".{piece}.{secrets.token_hex(4)}"
        draft.mkdir(parents=True)
        write(draft)
        if self.find(piece) is None:
            draft.rename(self._place / piece)
        else:
            shutil.rmtree(draft)

    def clear(self) -> None:
        """Remove the pieces: the work is done."""
        if self._place is None or not self._place.is_dir():
            return
        shutil.rmtree(self._place)
        if not any(self._place.parent.iterdir()):
            self._place.parent.rmdir()


def kept_pieces(folder: str | Path) -> list[str]:
    """Names of the finished pieces of the work that was last going on in a folder.

    Examples
    --------
    >>> kept_pieces("no-such-folder")
    []
    """
    works = [place for place in (Path(folder) / NAME).glob("*") if place.is_dir()]
    if not works:
        return []
    last = max(works, key=lambda place: place.stat().st_mtime)
    return sorted(piece.name for piece in last.iterdir() if not piece.name.startswith("."))


def fingerprints(tables: Mapping[str, Table | FedbaryError]) -> dict[str, str]:
    """A digest of each table's rows in their order and of their ids, or the words of what is wrong with it."""
    found = {}
    for name, table in tables.items():
        if isinstance(table, FedbaryError):
            found[name] = str(table)
            continue
        rows = hashlib.sha256(b"".join(row_keys(table).tolist()))
        rows.update("\n".join(map(str, table.row_names)).encode("utf-8", "backslashreplace"))
        found[name] = rows.hexdigest()
    return found
