"""One walk over a table's rows: some of them at a time, encoded once for everybody who looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.errors import SchemaError
from fedbary.space.encode import encode_column, encode_columns, require_categories, require_columns
from fedbary.space.missing import missing_by_column
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a table that are in memory together.

    Attributes
    ----------
    table : Table
        The rows.
    encoded : array
        What `encode` makes of them.
    missing : array
        Their cells without a value, as `missing_by_column` counts them.
    """

    table: Table
    encoded: Floats
    missing: Integers

    def __len__(self) -> int:
        return len(self.table)


def encoded_parts(table: Table, schema: Schema) -> Iterator[Part]:
    """The rows of a table in order, a part at a time; a table that is not large is one part."""
    require_columns(table, schema)
    require_categories(table, schema)
    for rows in table.batches():
        try:
            encoded = encode_columns(rows, schema)
        except SchemaError:
            if len(rows) == len(table):
                raise
            for column in schema.columns:  # a part knows neither all rows that lack a cell nor their names
                encode_column(table, column, schema.missing)
            raise
        yield Part(rows, encoded, missing_by_column(rows, schema))
