"""Public coordinates: what a private card sees of a row, by the row's own cells and a schema agreed on beforehand.

They are the schema's values (scaled, projected with a residual, not whitened), then for each column that may lack cells
the share of them that is missing, then that of all other columns together, and last a label that is a number. Where all
cells are missing, the share alone is as long as the clip norm: noise is as large as that, and most rows lack none.
Nothing here refuses a row: what cannot be read is missing. All arithmetic is elementwise, see
`fedbary.space.row_points`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.cells import cell_numbers
from fedbary.space.missing import missing_by_column
from fedbary.space.row_points import FARTHEST, label_places, projected, row_values
from fedbary.space.schema import Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def public_width(schema: Schema) -> int:
    """Number of public coordinates."""
    return schema.value_width + len(_marked(schema)) + (schema.label.kind == "number")


def public_points(table: Table, schema: Schema) -> Floats:
    """Public coordinates of all rows, one line per coordinate."""
    values, missing = row_values(table, schema), missing_by_column(table, schema)
    with np.errstate(all="ignore"):
        if schema.projection is not None:
            values = projected(values, schema.projection.directions)
        weight = mark_weight(schema)
        shares = [weight * (missing[:, places].sum(axis=1) / cells) for places, cells in _marked(schema)]
        label = []
        if schema.label.kind == "number":
            standard = (cell_numbers(table.labels) - schema.label.mean) / schema.label.scale
            label = [np.clip(standard, -FARTHEST, FARTHEST)]
    return np.vstack([values, *shares, *label])


def mark_weight(schema: Schema) -> float:
    """How long a share of one in the coordinates of missing cells is."""
    return 1.0 if schema.clip is None else schema.clip


def mark_cells(schema: Schema) -> list[int]:
    """How many cells of a row each coordinate of missing cells stands for."""
    return [cells for _, cells in _marked(schema)]


def public_classes(schema: Schema) -> tuple[str, ...]:
    """The classes of a card in public coordinates; one without a name where the label is a number."""
    return ("",) if schema.label.kind == "number" else schema.label.classes


def public_codes(table: Table, schema: Schema) -> Integers:
    """The place of each row's class among `public_classes`; −1 where it has none."""
    if schema.label.kind == "number":
        return np.where(np.isnan(cell_numbers(table.labels)), -1, 0)
    places = label_places(table.labels, schema.label.classes)
    return np.where(places == len(schema.label.classes), -1, places)


def _marked(schema: Schema) -> list[tuple[list[int], int]]:
    """The columns whose missing cells have a coordinate together, and the cells of a row in them."""
    own = [([place], column.width) for place, column in enumerate(schema.columns) if column.may_lack]
    others = [place for place, column in enumerate(schema.columns) if not column.may_lack]
    return [*own, (others, sum(schema.columns[place].width for place in others))] if others else own
