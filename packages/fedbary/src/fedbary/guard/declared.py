"""`Declared`: what a server may know of a table without asking, and so may be refused for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedbary.errors import DataError
from fedbary.protocols.cards.narrow import widths_in
from fedbary.protocols.messages import Message
from fedbary.space.encode import column_widths, require_widths
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    from fedbary.data.table import Table


@dataclass(frozen=True)
class Declared:
    """What a server may know of a table without asking: its row count, and the names and widths of its columns.

    With ε rows are persons, where the owner says whose each row is: how many a person has is that person's own.
    """

    rows: int
    columns: Mapping[str, int | None]

    @classmethod
    def of(cls, table: Table, *, private: bool = False) -> Declared:
        """What is declared of a table, for a ``private`` answer or for an exact one."""
        rows = len(table)
        if private and table.persons is not None:
            rows = len(np.unique(table.persons))
        return cls(rows, column_widths(table))

    def check(self, message: Message, min_group: int) -> None:
        """Refuse a message for itself, or for what is declared; a schema is read without any row."""
        if self.rows < min_group:
            raise DataError("schema.too-few-rows", rows=self.rows, least=min_group)
        if "schema" not in message.scalars:
            return
        schema = Schema.from_json(str(message.scalars["schema"]))
        if "fingerprint" in message.scalars:
            schema.require(str(message.scalars["fingerprint"]))
        require_widths(widths_in(self.columns, schema), self.rows, schema)
