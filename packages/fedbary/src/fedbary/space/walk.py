"""`walk`: one pass over a table's batches for everything that is to be known of its rows.

A `Fold` takes batches and says at the end what they come to. Two folds of different rows merge into that of all of
them, so that rows that lie in several files or on several machines are walked over where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, TypeVar

from fedbary.data.spool import ahead
from fedbary.data.table import PART, Table
from fedbary.errors import SchemaError
from fedbary.space.columns import Floats, Integers
from fedbary.space.encode import encode_rows, missing_by_column, require_fit
from fedbary.space.schema import Schema

Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table that are in memory together: encoded once for everybody who looks at them."""

    table: Table
    schema: Schema

    @cached_property
    def encoded(self) -> Floats:
        """What `fedbary.space.encode.encode` makes of them."""
        return encode_rows(self.table, self.schema)

    @cached_property
    def missing(self) -> Integers:
        """Their cells without a value, by column of the schema."""
        return missing_by_column(self.table, self.schema)


class Fold(Protocol[Result_co]):
    """Something that is known of rows after a walk."""

    def add(self, batch: Batch) -> None:
        """Take the next rows."""

    def merge(self, other: Self) -> None:
        """Take the rows that another one took, after its own."""

    def done(self) -> Result_co:
        """What all rows come to."""


def walk(table: Table, schema: Schema, *folds: Fold[object], encoded: bool = True) -> None:
    """Give every fold the rows of a table in order, a batch at a time; a table that is not large is one batch.

    Refuses a table that does not fit, unless nobody looks at ``encoded`` rows.
    """
    batches = _encoded(table, schema) if encoded else (Batch(rows, schema) for rows in table.batches())
    for batch in batches if len(table) <= PART else ahead(batches):
        for fold in folds:
            fold.add(batch)


def _encoded(table: Table, schema: Schema) -> Iterator[Batch]:
    require_fit(table, schema)
    for rows in table.batches():
        batch = Batch(rows, schema)
        try:
            batch.encoded, batch.missing  # noqa: B018 - here, where another thread may do it
        except SchemaError:
            if len(rows) < len(table):  # a batch knows neither all rows that lack a cell nor their names
                for column in schema.columns:
                    column.require(table, schema.missing)
            raise
        yield batch
