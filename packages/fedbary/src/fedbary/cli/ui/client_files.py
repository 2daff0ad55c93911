"""From what a user typed to a file per client and the rows that they are compared with; and what was guessed there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedbary.cli.ui.session import session
from fedbary.errors import DataError, FedbaryError, SettingsError
from fedbary.filling import COMMAND
from fedbary.wording import counted, listed

if TYPE_CHECKING:
    from fedbary.data.options import ReadOptions
    from fedbary.data.reading import Reading
    from fedbary.data.table import Table

_MOST_GUESSES = 12
# What is wrong with an option rather than with a file.
_OF_OPTIONS = {"data.no-such-column", "data.option-without-column", "formats.no-client-column", "formats.no-sheet"}


def given_files(files: list[str] | None) -> list[str]:
    """The files that were typed, or else those of the configuration file; there must be some."""
    # Older typers do not look into the configuration for arguments.
    chosen = files or session().configured.get("files")
    if not chosen:
        raise SettingsError("cli.no-client-given")
    return list(chosen)


def client_paths(patterns: Iterable[str], *, apart_from: Iterable[Path | None] = ()) -> dict[str, str | Path]:
    """Find the file of each client in paths, quoted globs and folders; a file named twice counts once.

    The reference often lies beside the clients' files. It is left out, as its distance to itself, zero, would
    take the whole of the shares.
    """
    from fedbary.data.files import client_files
    from fedbary.data.places import resolved

    found: dict[str, str | Path] = {}
    for pattern in patterns:
        found |= {resolved(place): place for place in client_files(pattern).values()}
    for path in apart_from:
        if path is not None:
            found.pop(resolved(path), None)
    if not found:
        raise DataError("cli.only-reference-and-test")
    # A file system's name may not be UTF-8, which no result file could hold.
    named = client_files(list(found.values()))
    return {name.encode("utf-8", errors="backslashreplace").decode("utf-8"): path for name, path in named.items()}


def read_reference(
    path: str | Path, label: str, row_id: str | None, options: ReadOptions, agreed: Reading | None = None
) -> Table:
    """Read the reference, whose rows need no ids; but an id column that it has must not become a feature."""
    from fedbary.data.files import read
    from fedbary.data.persons import persons_if_there

    # Whose row it is, where clients share a file, says nothing about a row of the reference.
    drop = (*options.drop, *([] if options.client_column is None else [options.client_column]))
    own = replace(options, client_column=None, drop=drop, query=None)
    try:
        return persons_if_there(lambda asked: read(path, label, id=row_id, options=asked, reading=agreed), own)
    except DataError:
        if row_id is None:
            raise
        return persons_if_there(lambda asked: read(path, label, options=asked, reading=agreed), own)


def require_some_table(tables: Mapping[str, Table | DataError]) -> None:
    """Refuse where a mistake in what was typed keeps every file from being read: it is said once."""
    errors = [table for table in tables.values() if isinstance(table, DataError)]
    if len(errors) == len(tables) and {error.code for error in errors} <= _OF_OPTIONS:
        raise errors[0]


def read_notes(tables: Mapping[str, Table | FedbaryError]) -> list[str]:
    """One sentence for each guess that was made in reading, with the clients' names where it is not true of all."""
    whose: dict[str, list[str]] = {}
    read = {name: table for name, table in tables.items() if not isinstance(table, FedbaryError)}
    for name, table in read.items():
        for note in table.notes:
            whose.setdefault(note.text(COMMAND), []).append(name)
    lines = [said if len(names) == len(read) else f"{listed(names)}: {said}" for said, names in whose.items()]
    more = counted(len(lines) - _MOST_GUESSES, "more guess")
    return (
        lines if len(lines) <= _MOST_GUESSES else [*lines[:_MOST_GUESSES], f"and {more}: `fedbary check FILE` has them"]
    )
