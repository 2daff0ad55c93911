"""A cache for long work in parts: each finished part stays in a folder until all are done, so that a call can go on.

`LocalEngine` keeps a run's rounds (`fedbary.engines.session`); here the parts are methods of a comparison and models
of a training. joblib's cache would do the same with pickles, and a folder that somebody sends must not run code.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.space.row_identity import row_keys

NAME = "unfinished"
Result = TypeVar("Result")


class ResultCache:
    """Finished parts of work that is not done yet.

    Parameters
    ----------
    folder : path, optional
        Where the result will be; the parts are in its folder ``unfinished``. Without it nothing is kept.
    key : callable
        Gives all that the parts depend on: those of other data or settings are not found.

    Examples
    --------
    >>> import tempfile
    >>> cache = ResultCache(tempfile.mkdtemp(), lambda: {"seed": 0})
    >>> cache.store("mr", lambda place: (place / "score.txt").write_text("7"))
    >>> (cache.find("mr") / "score.txt").read_text(), cache.find("gtg")
    ('7', None)
    >>> cache.clear()
    """

    def __init__(self, folder: str | Path | None, key: Callable[[], Mapping[str, Any]]) -> None:
        self._place: Path | None = None
        if folder is not None:
            text = json.dumps(key(), sort_keys=True, default=str)
            digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:20]
            self._place = Path(folder) / NAME / digest

    def get(
        self,
        part: str,
        compute: Callable[[], Result],
        *,
        save: Callable[[Result, Path], object],
        load: Callable[[Path], Result],
    ) -> Result:
        """The cached part, or that of computing it now, which is then cached."""
        place = self.find(part)
        if place is not None:
            return load(place)
        result = compute()
        self.store(part, lambda place: save(result, place))
        return result

    def find(self, part: str) -> Path | None:
        """The folder of a cached part, or None."""
        if self._place is None or not (self._place / part).is_dir():
            return None
        return self._place / part

    def store(self, part: str, write: Callable[[Path], object]) -> None:
        """Let ``write`` fill the part's folder, which is there as a whole or not at all."""
        if self._place is None:
            return
        draft = self._place / f".{part}.{secrets.token_hex(4)}"
        draft.mkdir(parents=True)
        write(draft)
        if self.find(part) is None:
            draft.rename(self._place / part)
        else:
            shutil.rmtree(draft)

    def clear(self) -> None:
        """Remove the parts: the work is done."""
        if self._place is None or not self._place.is_dir():
            return
        shutil.rmtree(self._place)
        if not any(self._place.parent.iterdir()):
            self._place.parent.rmdir()


def cached_parts(folder: str | Path) -> list[str]:
    """Names of the cached parts of the work that was last going on in a folder.

    Examples
    --------
    >>> cached_parts("no-such-folder")
    []
    """
    works = [place for place in (Path(folder) / NAME).glob("*") if place.is_dir()]
    if not works:
        return []
    last = max(works, key=lambda place: place.stat().st_mtime)
    return sorted(part.name for part in last.iterdir() if not part.name.startswith("."))


def fingerprints(tables: Mapping[str, Table | FedbaryError]) -> dict[str, str]:
    """A digest of each table's rows in their order and of their ids, or what is wrong with it."""
    found = {}
    for name, table in tables.items():
        if isinstance(table, FedbaryError):
            found[name] = table.note.to_text()
            continue
        rows = hashlib.sha256(b"".join(row_keys(table).tolist()))
        rows.update("\n".join(map(str, table.row_names)).encode("utf-8", "backslashreplace"))
        found[name] = rows.hexdigest()
    return found
