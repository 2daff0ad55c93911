"""From a table's rows to coordinates of the schema's space, in one of two ways.

`EXACT` refuses what does not fit and multiplies matrices; both let one row decide what happens to others, which
differential privacy does not allow. `ROW_WISE` is for answers with ε: a cell that does not fit has a public place (a
number that cannot be read is a missing one, an unknown category or class is ``other``), coordinates are bounded, and
the arithmetic is elementwise: what is correctly rounded does not depend on where a row stands. All else is one code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbary.columns import column_of
from fedbary.columns.column import UNREAD
from fedbary.data.reading import Difference, differences
from fedbary.data.table import Table
from fedbary.errors import DataError, SchemaError
from fedbary.notes import Fact, Note
from fedbary.space.columns import Bools, Floats, Integers, category_places, cell_numbers, levels
from fedbary.space.schema import Schema

# Scales from the mean beyond which a number lies no farther away: no honest cost is that large.
FARTHEST = 1e6
# Numbers that categories and label coordinates may add to a table's own: four gigabytes.
_MOST_ADDED = 2**29
# Rows of which columns are put side by side at a time: they stay in the processor's cache.
_TOGETHER = 2048
# Numbers in a temporary array, so that it stays in a processor's cache.
_IN_CACHE = 2**14


@dataclass(frozen=True)
class Arithmetic:
    """How coordinates are computed; ``farthest`` bounds them."""

    farthest: float | None

    def times(self, values: Floats, matrix: Floats) -> Floats:
        """Each row times the matrix."""
        return values @ matrix

    def squares(self, values: Floats) -> Floats:
        """Each row's sum of squares."""
        return np.asarray((values**2).sum(axis=1))


class RowWise(Arithmetic):
    """Term by term in the order of the coordinates: the result of a row depends on this row alone, to the last bit."""

    def times(self, values: Floats, matrix: Floats) -> Floats:
        lines, height = np.ascontiguousarray(values.T), matrix.shape[1]
        product = np.zeros((height, len(values)))
        factors = np.ascontiguousarray(matrix)[:, :, None]
        for part in chunks(len(values), height):
            total, term = product[:, part].copy(), np.empty((height, part.stop - part.start))
            for place, line in enumerate(lines):
                np.multiply(factors[place], line[part], out=term)
                np.add(total, term, out=total)
            product[:, part] = total
        return product.T

    def squares(self, values: Floats) -> Floats:
        total = np.zeros(len(values))
        for line in values.T:
            total += line * line
        return total


EXACT, ROW_WISE = Arithmetic(None), RowWise(FARTHEST)


def chunks(rows: int, height: int) -> Iterator[slice]:
    """Consecutive rows, so many at a time that ``height`` numbers of each stay in the cache."""
    size = max(8, _IN_CACHE // height)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def require_columns(table: Table, schema: Schema) -> None:
    """Refuse a table that lacks columns of the schema, has them in another width, or was read in another way."""
    require_readable(table, [column.name for column in schema.columns])
    if found := differences(table.reading, schema.reading):
        raise SchemaError("schema.read-otherwise", where=table.origin, **read_otherwise(found, whom="the schema"))
    require_widths(column_widths(table), len(table), schema, where=table.origin)


def require_readable(table: Table, columns: Iterable[str]) -> None:
    """Refuse a table of which some of these columns could not be read, for the reason why they were left out."""
    wanted = set(columns)
    for note in table.notes:
        if note.code == UNREAD and note.facts["column"] in wanted:
            assert isinstance(note.facts["why"], Note)
            why = note.facts["why"]
            raise DataError(why.code, **{"where": table.origin, **why.facts})


def require_fit(table: Table, schema: Schema) -> None:
    """What `require_columns` refuses, and a column of numbers none of which is one of the schema's categories."""
    require_columns(table, schema)
    for column in schema.columns:
        if column.kind != "categorical" or table.columns[column.name].dtype.kind != "f":
            continue
        if not set(levels(table.columns[column.name])) & set(column.categories):
            known = tuple(column.categories)[:3]
            raise SchemaError("schema.other-categories", where=table.origin, column=column.name, known=known)


def read_otherwise(found: Sequence[Difference], *, whom: str, others: int | None = None) -> dict[str, Fact]:
    """The facts of the first of some differences, and how many more there are."""
    return {**found[0].facts(), "others": others, "whom": whom, "more": len(found) - 1 or None}


def column_widths(table: Table) -> dict[str, int | None]:
    """How many numbers a row has in each column; None where a column is no block."""
    return {name: int(values.shape[1]) if values.ndim == 2 else None for name, values in table.head().columns.items()}


def require_widths(widths: Mapping[str, int | None], rows: int, schema: Schema, *, where: str = "") -> None:
    """What `require_columns` refuses, by the names and widths of columns and the row count alone."""
    wanted = [column.name for column in schema.columns]
    missing = [name for name in wanted if name not in widths]
    if missing and list(widths) == ["x"]:
        raise SchemaError("schema.columns-without-names", where=where, names=tuple(wanted))
    if missing:
        extra = tuple(name for name in widths if name not in wanted)
        raise SchemaError(
            "schema.columns-missing", where=where, missing=tuple(missing), count=len(missing), extra=extra or None
        )
    added = schema.point_width - schema.value_width
    for column in schema.columns:
        width = widths[column.name]
        if column.kind == "categorical":
            added += column.coordinates
            if width is not None:
                raise SchemaError("schema.block-for-categories", where=where, column=column.name, width=width)
        elif (width or 1) != column.width:
            raise SchemaError("schema.width", where=where, column=column.name, width=width or 1, expected=column.width)
    if rows * added > _MOST_ADDED:
        raise SchemaError("schema.too-wide-for-rows", where=where, most=_MOST_ADDED)


def column_kind(values: NDArray[np.generic]) -> str:
    """The kind of a column in a schema's words: ``block``, ``boolean``, ``numeric`` or ``categorical``."""
    return column_of(values).schema_kinds[0]


def encode(table: Table, schema: Schema) -> Floats:
    """One row per table row, one scaled coordinate per number and category; refuses what does not fit.

    What is missing is imputed here; that it is missing is told by `marks`.
    """
    require_fit(table, schema)
    return encode_rows(table, schema)


def encode_rows(table: Table, schema: Schema, how: Arithmetic = EXACT) -> Floats:
    """What `encode` gives of rows of a table whose columns fit; only `EXACT` refuses a cell."""
    if how is EXACT:
        for column in schema.columns:
            column.require(table, schema.missing)
    columns = [column.encode(table.columns[column.name], how.farthest) for column in schema.columns]
    return side_by_side(columns, order="C" if how is EXACT else "F")


def side_by_side(parts: Sequence[Floats], *, order: Literal["C", "F"] = "C") -> Floats:
    """Matrices of the same rows as one."""
    found = np.empty((len(parts[0]), sum(part.shape[1] for part in parts)), order=order)
    for start in range(0, len(found), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        np.concatenate([part[some] for part in parts], axis=1, out=found[some])
    return found


def missing_by_column(table: Table, schema: Schema) -> Integers:
    """Cells without a value, one line per row and one column per column of the schema."""
    found = np.zeros((len(table), len(schema.columns)), dtype=np.int64, order="F")
    for place, column in enumerate(schema.columns):
        missing = column.missing(table.columns[column.name])
        if missing.any():
            found[:, place] = missing
    return found


def missing_coordinates(table: Table, schema: Schema) -> Bools:
    """Which coordinates of `encode` stand for cells without a value."""
    return np.hstack([column.holes(table.columns[column.name]) for column in schema.columns])


def marks(missing: Integers | Floats, schema: Schema) -> Floats:
    """The coordinates of `missing_by_column`, or of its means; none where the schema refuses missing values.

    A missing number is imputed by the schema's ``middle``, which alone would bring a row nearer to everything. So
    missing cells have coordinates of their own: one for every column that may lack cells, and, where there is a
    reference, a last one for all others together: any point of the reference lies at 0 there, so the squared distance
    is the same as if each of those columns had a mark of its own. Without a reference everybody says beforehand which
    columns lack cells.

    A mark is the root of what the missing cells add to a squared distance, so that each adds the same. The arithmetic
    is elementwise: the marks of a row are a function of its own cells to the last bit.
    """
    coordinates = np.zeros((len(missing), schema.mark_width))
    if not schema.mark_width:
        return coordinates
    own = 0
    for place, column in enumerate(schema.columns):
        added = missing[:, place] * (column.absence / column.width)
        if column.may_lack:
            coordinates[:, own] = added
            own += 1
        elif schema.shared_mark:
            coordinates[:, -1] += added
    return np.sqrt(coordinates)


def place(encoded: Floats, schema: Schema, how: Arithmetic = EXACT) -> Floats:
    """Where encoded columns lie in the schema's space: projected with a residual, and whitened."""
    coordinates = project(encoded, schema.projection, how)
    return coordinates if schema.whitening is None else how.times(coordinates, schema.whitening)


def project(values: Floats, directions: Floats | None, how: Arithmetic = EXACT) -> Floats:
    """Coordinates along directions (rows), and the length of what these leave out; all of them where there are none.

    Without the residual, noise off the data's manifold would be invisible.
    """
    if directions is None:
        return values
    coordinates = how.times(values, directions.T)
    lost = how.squares(values) - how.squares(coordinates)
    return np.column_stack([coordinates, np.sqrt(np.maximum(lost, 0.0))])


def features(table: Table, schema: Schema) -> Floats:
    """Scaled, projected and whitened values and the marks of missing cells, one row per table row."""
    return np.hstack([place(encode(table, schema), schema), marks(missing_by_column(table, schema), schema)])


def row_values(table: Table, schema: Schema) -> Floats:
    """Scaled columns of all rows, row-wise, before they are projected and whitened."""
    require_columns(table, schema)
    with np.errstate(all="ignore"):
        return encode_rows(table, schema, ROW_WISE)


def row_points(table: Table, schema: Schema) -> Floats:
    """Row-wise coordinates of all rows, one line per coordinate: features as `embed` places them, then the label's.

    Raises only where columns are missing or have another width. Label coordinates must not depend on other rows, so
    they are those of ``onehot`` or ``numeric``.
    """
    with np.errstate(all="ignore"):
        values = place(row_values(table, schema), schema, ROW_WISE)
        missing = marks(missing_by_column(table, schema), schema)
        return np.vstack([values.T, missing.T, schema.label.encode(table.labels, FARTHEST).T])


class PublicCoordinates:
    """What a private card sees of a row, row-wise.

    They are the schema's values (scaled, projected with a residual, not whitened), then for each column that may lack
    cells the share of them that is missing, then that of all other columns together, and last a label that is a number.
    Where all cells are missing, the share alone is as long as the clip norm (``mark_weight``): noise is as large as
    that, and most rows lack none. ``mark_cells`` are the cells of a row that each share is of; ``classes`` of a label
    that is a number are one without a name.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema, self._number = schema, schema.label.kind == "number"
        self._marked = [[place] for place, column in enumerate(schema.columns) if column.may_lack]
        if others := [place for place, column in enumerate(schema.columns) if not column.may_lack]:
            self._marked.append(others)
        self.mark_cells = [sum(schema.columns[place].width for place in places) for places in self._marked]
        self.mark_weight = 1.0 if schema.clip is None else schema.clip
        self.classes = ("",) if self._number else schema.label.classes
        self.width = schema.value_width + len(self._marked) + self._number

    def points(self, table: Table) -> Floats:
        """Coordinates of all rows, one line per coordinate."""
        schema, missing = self._schema, missing_by_column(table, self._schema)
        with np.errstate(all="ignore"):
            values = project(row_values(table, schema), schema.projection, ROW_WISE)
            marked = zip(self._marked, self.mark_cells, strict=True)
            shares = [self.mark_weight * (missing[:, places].sum(axis=1) / cells) for places, cells in marked]
            label = [schema.label.standardised(table.labels, FARTHEST)] if self._number else []
        return np.vstack([values.T, *shares, *label])

    def codes(self, table: Table) -> Integers:
        """The place of each row's class among the classes; −1 where it has none."""
        if self._number:
            return np.where(np.isnan(cell_numbers(table.labels)), -1, 0)
        return category_places(table.labels, self.classes)
