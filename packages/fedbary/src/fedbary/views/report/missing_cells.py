"""Where cells are missing: by client and column for a coordinator, by column for an owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedbary.wording import on_one_line, percent, whole_percent

if TYPE_CHECKING:
    from fedbary.data.table import Table
    from fedbary.valuation.result import Valuation

# The code of a note that says what share of a column's cells a client lacks.
COLUMN_LACKS = "schema.column-lacks"
# Columns of a table that still fits a page.
_MOST_COLUMNS, _MOST_LINES = 8, 20


@dataclass(frozen=True)
class MissingCells:
    """A table: its columns, and the lines of clients with a share, or a dash, for each."""

    columns: list[str]
    lines: list[tuple[str, list[str]]]


def missing_by_client(result: Valuation) -> MissingCells:
    """What clients said of the columns that lack many cells, the worst column first."""
    shares: dict[str, dict[str, float]] = {}
    for name, outcome in result.outcomes.items():
        for note in outcome.notes:
            share = note.facts.get("share")
            if note.code == COLUMN_LACKS and isinstance(share, float | int):
                shares.setdefault(name, {})[str(note.facts.get("column"))] = float(share)
    worst: dict[str, float] = {}
    for said in shares.values():
        for column, share in said.items():
            worst[column] = max(share, worst.get(column, 0.0))
    columns = sorted(worst, key=lambda column: (-worst[column], column))[:_MOST_COLUMNS]
    lines = [(name, [whole_percent(said.get(column)) for column in columns]) for name, said in shares.items()]
    return MissingCells(columns, lines)


def lacking_columns(table: Table) -> list[tuple[str, str, str]]:
    """The columns of an owner's table that lack cells, the worst first: in how many rows, and in which share of them.

    Examples
    --------
    >>> import fedbary as fb
    >>> lacking_columns(fb.Table({"age": [31.0, float("nan")], "size": [1.0, 2.0]}, ["a", "b"]))
    [('age', '1', '50.0 %')]
    """
    lacking = sorted(((-count, name) for name, count in table.missing().items() if count))[:_MOST_LINES]
    return [(on_one_line(name), f"{-count:,}", percent(-count / len(table))) for count, name in lacking]
