"""`Declared`: what a server may know of a table without asking, and so may be refused for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedbary.errors import DataError, SchemaError
from fedbary.protocols.messages import Message
from fedbary.space.schema import Schema

if TYPE_CHECKING:
    from fedbary.data.table import Table


@dataclass(frozen=True)
class Declared:
    """What a server may know of a table without asking: its row count, and the names and widths of its columns.

    Examples
    --------
    >>> import fedbary as fb
    >>> Declared.of(fb.Table({"age": [51, 38]}, ["ill", "well"]))
    Declared(rows=2, columns={'age': 1})
    """

    rows: int
    columns: Mapping[str, int]

    @classmethod
    def of(cls, table: Table) -> Declared:
        """What is declared of a table."""
        widths = {name: values.shape[1] if values.ndim == 2 else 1 for name, values in table.columns.items()}
        return cls(len(table), widths)

    def check(self, message: Message, min_group: int) -> None:
        """Refuse a message for itself, or for what is declared; a schema is read without any row."""
        if self.rows < min_group:
            raise DataError("schema.too-few-rows", rows=self.rows, least=min_group)
        if "schema" not in message.scalars:
            return
        schema = Schema.from_json(str(message.scalars["schema"]))
        if "fingerprint" in message.scalars:
            schema.require(str(message.scalars["fingerprint"]))
        wanted = tuple(column.name for column in schema.columns)
        missing = tuple(name for name in wanted if name not in self.columns)
        if missing:
            extra = tuple(name for name in self.columns if name not in wanted)
            raise SchemaError("schema.columns-missing", missing=missing, count=len(missing), extra=extra or None)
        for column in schema.columns:
            if self.columns[column.name] != column.width:
                width, expected = self.columns[column.name], column.width
                raise SchemaError("schema.width", column=column.name, width=width, expected=expected)
