"""The owner's rows as a question wants them read: by its schema where it has one, and with ε by nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbary.data.frames import WITHOUT_LABEL
from fedbary.data.persons import ONE_ROW_EACH, REPEATS
from fedbary.data.read_columns import UNREAD, UNREAD_CELLS
from fedbary.errors import DataError, FedbaryError
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_log import log_error
from fedbary.notes import Note
from fedbary.protocols.messages import Message
from fedbary.space.encode import require_readable
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    from fedbary.data.reading import Reading
    from fedbary.data.table import Table


# Notes on reading that an owner's log has, and what they are about.
_LOGGED = dict.fromkeys((UNREAD, UNREAD_CELLS, WITHOUT_LABEL, ONE_ROW_EACH), "left out") | {REPEATS: "look at"}


def asked_reading(message: Message) -> Reading | None:
    """How a message wants columns read; None where it has no schema, and the owner's own guesses are what it is about.

    A run is read as its first message says: of rows that were described by the owner's guesses no later schema makes
    something else.
    """
    if "schema" not in message.scalars:
        return None
    return Schema.from_json(str(message.scalars["schema"])).whole_reading


def own_table(config: NodeConfig, reading: Reading | None, *, private: bool) -> Table:
    """The rows of an owner's file, or those that an app loads.

    For a ``private`` answer single cells that no table takes do not count, nor does what a column looks like: that
    would leave. Kinds are then those that were agreed and that the owner's options name. Arrays and a `Table` that an
    app loads are taken as they are.
    """
    from fedbary.data.any_cells import read_any_cells
    from fedbary.data.files import read

    if config.source is not None:
        from fedbary.data.objects import as_table, private_table

        label = config.label if config.label != "label" else None  # where nobody names it, a data set may
        make = private_table if private else as_table
        table = make(config.source.load(), label=label, options=config.reading, reading=reading)
    else:
        assert config.data is not None
        reader = read_any_cells if private else read
        table = reader(config.data, config.label, id=config.id, options=config.reading, reading=reading)
    # Whether rows can be read as a schema says must not be told as if the column were not there.
    require_readable(table, reading or ())
    for note in table.notes:
        if note.code in _LOGGED:
            why = note.facts.get("why")
            told = why if isinstance(why, Note) else note
            log_error(DataError(told.code, **{"where": table.origin, **told.facts}), _LOGGED[note.code])
    return table


def log_unread_cells(config: NodeConfig, reading: Reading | None) -> None:
    """Tell the owner's log what a private answer took as missing; the answer was made before."""
    try:
        for _ in own_table(config, reading, private=False).batches():
            pass  # what is wrong with a stored table is said when it is met
    except FedbaryError as error:
        log_error(error, "read as far as it can be")
