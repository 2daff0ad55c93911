"""What was guessed when files were read, said once for all clients of whom it is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedbary.filling import COMMAND
from fedbary.wording import counted, listed

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.errors import FedbaryError

_MOST = 12


def read_notes(tables: Mapping[str, Table | FedbaryError]) -> list[str]:
    """One sentence for each guess, with the clients' names where it is not true of all.

    Examples
    --------
    >>> from fedbary.data.table import Table
    >>> from fedbary.notes import Note
    >>> guess = Note("formats.rows-of-nobody", {"column": "site", "count": 3})
    >>> north, south = (Table({"age": [31]}, labels=[0], notes=notes) for notes in [(guess,), ()])
    >>> read_notes({"north": north, "south": south})[0][:6]
    'north:'
    """
    from fedbary.data.table import Table

    whose: dict[str, list[str]] = {}
    read = {name: table for name, table in tables.items() if isinstance(table, Table)}
    for name, table in read.items():
        for note in table.notes:
            whose.setdefault(note.text(COMMAND), []).append(name)
    lines = [said if len(names) == len(read) else f"{listed(names)}: {said}" for said, names in whose.items()]
    more = len(lines) - _MOST
    return lines if more <= 0 else [*lines[:_MOST], f"and {counted(more, 'more guess')}: `fedbary check FILE` has them"]
