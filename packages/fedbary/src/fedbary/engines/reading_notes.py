"""What reading left out, said in the result: columns once for the whole run, rows without a label of each client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.read_columns import UNREAD
from fedbary.data.table import Table
from fedbary.errors import FedbaryError
from fedbary.notes import Note
from fedbary.space.common_columns import LEFT_OUT, OF_FEW
from fedbary.valuation.result import Valuation

_OF_A_ROW = ("example", "row", "found")


def with_reading_notes(
    result: Valuation, reference: Table | None, tables: Mapping[str, Table | FedbaryError]
) -> Valuation:
    """The result with a note on each column that somebody's reading left out, instead of one that it is lacking.

    Owners on other machines have these notes in their own logs; of theirs only what the protocol tells is known.
    """
    read = {n: table for n, table in tables.items() if isinstance(table, Table) and result.outcomes[n].ok}
    unread: dict[str, dict[str, Note]] = {}
    for whose, table in (*([] if reference is None else [("", reference)]), *read.items()):
        for note in table.notes:
            if note.code == UNREAD:
                unread.setdefault(str(note.facts["column"]), {})[whose] = note
    columns = [_of_column(found, len(read)) for found in unread.values()]
    agreed = [
        note for note in result.notes if note.code not in (LEFT_OUT, OF_FEW) or note.facts["column"] not in unread
    ]
    outcomes = dict(result.outcomes)
    for name, table in read.items():
        unlabelled = tuple(note for note in table.notes if note.code == WITHOUT_LABEL)
        outcomes[name] = replace(outcomes[name], notes=(*outcomes[name].notes, *unlabelled))
    unlabelled = () if reference is None else tuple(note for note in reference.notes if note.code == WITHOUT_LABEL)
    said = (*(Note(note.code, {**note.facts, "where": "reference"}) for note in unlabelled), *columns, *agreed)
    return replace(result, notes=said, outcomes=outcomes)


def _of_column(found: Mapping[str, Note], clients: int) -> Note:
    """The first note on a column, without what a row holds, and with the client's name where others can use it."""
    whose, note = next(iter(found.items()))
    why = note.facts["why"]
    assert isinstance(why, Note)
    told = Note(why.code, {name: fact for name, fact in why.facts.items() if name not in _OF_A_ROW})
    where = {} if not whose or len(found) == clients else {"where": whose}
    return Note(note.code, {"column": note.facts["column"], "why": told, **where})
