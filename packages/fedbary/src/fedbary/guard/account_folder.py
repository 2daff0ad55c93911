"""Where a table's account lies: one file has one, by whatever name it is reached.

A folder is named after the real path. It notes in ``places`` by which names its table was reached, and which file it
was: another link to that file, or a link that leads to each month's file in turn, finds the account again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

from fedbary.data.atomic import write_atomically
from fedbary.data.places import AnyPath, file_of, identity, is_url, place_name, resolved
from fedbary.errors import SettingsError
from fedbary.notes import Note
from fedbary.strict_json import read_json

_PLACES, _LEDGER, _LONGEST = "places", "ledger.jsonl", 2**20
_LONGEST_NAME = 64
_OF_A_NAME = frozenset(ascii_letters + digits + "-_.")


def account_folder(state: Path, name: object, data: str) -> Path:
    """The folder of a table with all its versions: by the name that its owner gave it, or by its place.

    Where older releases began several accounts of one file, the one with most in it goes on.
    """
    if name is not None:
        text = str(name)
        if not 1 <= len(text) <= _LONGEST_NAME or not set(text) <= _OF_A_NAME or text.startswith("."):
            raise SettingsError("guard.not-a-lineage", name=text)
        return state / text
    own = state / _folder_name(identity(data), identity(data))
    # As it was named before places were normalised.
    older = state / _folder_name(data, resolved(data) if is_url(data) else _as_given(data))
    names, seen = {identity(data), _as_given(data)}, _seen(data)
    found = [file.parent for file in sorted(state.glob(f"*/{_PLACES}")) if _is_of(_noted(file.parent), names, seen)]
    return max((home for home in (own, older, *found) if home.is_dir()), key=_written, default=own)


def note_places(home: Path, data: AnyPath) -> None:
    """Write down by which names a table is reached, and which file it is by now."""
    before = _noted(home)
    names = sorted({*before.get("names", ()), identity(data), _as_given(data)})
    after = {"names": names, "seen": _seen(data) or before.get("seen")}
    if after != before:
        write_atomically(
            home / _PLACES, lambda draft: draft.write_text(json.dumps(after), encoding="ascii"), mode=0o600
        )


def same_rows_elsewhere(home: Path, state: Path) -> tuple[Note, ...]:
    """A note for every other account that counted a question about the very rows of this one's last question."""
    digest = next((line for line in reversed(list(_digests(home / _LEDGER)))), None)
    if digest is None:
        return ()
    others = {file.resolve() for folder in (home.parent, state) for file in folder.glob(f"*/{_LEDGER}")}
    copies = sorted(file for file in others - {(home / _LEDGER).resolve()} if digest in _digests(file))
    return tuple(Note("guard.same-rows-elsewhere", {"path": str(file)}) for file in copies)


def _digests(ledger: Path) -> Iterator[str]:
    try:
        lines = ledger.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        try:
            digest = json.loads(line).get("data")
        except (ValueError, AttributeError, RecursionError):
            continue
        if digest:
            yield digest


def _is_of(noted: dict[str, Any], names: set[str], seen: list[int] | None) -> bool:
    if names & set(noted["names"]):
        return True
    # The number of a file that is gone is soon another's: it counts with its time, or while a noted name leads there.
    return seen is not None and (seen == noted["seen"] or any(_seen(name, 2) == seen[:2] for name in noted["names"]))


def _noted(home: Path) -> dict[str, Any]:
    try:
        content = dict(read_json((home / _PLACES).read_text(encoding="ascii"), longest=_LONGEST))
        return {"names": [str(name) for name in content["names"]], "seen": content["seen"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {"names": [], "seen": None}


def _seen(data: AnyPath, most: int = 3) -> list[int] | None:
    """Device and number of the file, and when it was changed; None where there is none."""
    file = file_of(data)
    try:
        facts = None if file is None else file.stat()
    except (OSError, ValueError):
        return None
    return None if facts is None else [facts.st_dev, facts.st_ino, facts.st_mtime_ns][:most]


def _as_given(data: AnyPath) -> str:
    return identity(data) if is_url(data) else str(Path(data).absolute())


def _folder_name(data: str, place: str) -> str:
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    stem = "".join(letter if letter in _OF_A_NAME else "-" for letter in place_name(data).partition(".")[0])
    return f"{stem[: _LONGEST_NAME - 9] or 'table'}-{digest}"


def _written(home: Path) -> int:
    ledger = home / _LEDGER
    return ledger.stat().st_size if ledger.is_file() else 0
