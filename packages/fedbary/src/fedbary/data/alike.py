"""`read_alike`: the tables of several clients in one process, each column read in one way by all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from fedbary.columns import Dropped
from fedbary.data.reading import Reading, agreed_reading, differences
from fedbary.data.table import Table
from fedbary.errors import DataError

Reader: TypeAlias = Callable[[Reading | None], Table]


def read_alike(
    readers: Mapping[str, Reader], errors: Literal["raise", "collect"] = "raise"
) -> dict[str, Table | DataError]:
    """Read every client by its own guesses, and those that differ from what most say once more, by what most say.

    A reader takes how columns were agreed to be read, or None. With ``"collect"`` a client that cannot be read does not
    stop the others: its value is the DataError.
    """
    found = {name: _tried(reader, None) for name, reader in readers.items()}
    # A column that one client has and all are asked to leave out is no error of the others.
    if dropped := _dropped(table for table in found.values() if isinstance(table, Table)):
        for name, table in found.items():
            if isinstance(table, DataError) and table.code == "data.option-without-column":
                found[name] = _tried(readers[name], dropped)
    agreed = agreed_reading(table.reading for table in found.values() if isinstance(table, Table))
    if agreed:
        for name, table in found.items():
            # What a client's own guesses do not take, everybody's may.
            if isinstance(table, DataError) or differences(table.reading, agreed):
                found[name] = _tried(readers[name], agreed)
    if errors == "raise":
        for table in found.values():
            if isinstance(table, DataError):
                raise table
    return found


def _dropped(tables: Iterable[Table]) -> Reading:
    return Reading({name: how for table in tables for name, how in table.reading.items() if isinstance(how, Dropped)})


def _tried(reader: Reader, agreed: Reading | None) -> Table | DataError:
    try:
        return reader(agreed)
    except DataError as error:
        return error
