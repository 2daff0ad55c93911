"""Means of groups of rows in a schema's coordinates, such that the schema can only look at the means.

Encoding rows and then averaging is the same on paper. On a machine it is not: a dishonest schema can scale and shift
so that each row is rounded to a bit before it is averaged, and so count rows beyond a threshold of its choice. Hence
rows are averaged as they are, and the schema's scaling is applied to the averages.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.data.table import Table
from fedbary.space.encode import encode, encode_column
from fedbary.space.missing import marks, missing_by_column
from fedbary.space.schema import ColumnSpec, Schema

Floats = NDArray[np.float64]


def encoded_means(table: Table, schema: Schema, groups: NDArray[np.int64], *, min_group: int) -> tuple[Floats, float]:
    """Means of the groups 0, 1, … in the coordinates of `encode` and `marks`, and the rows' scatter around them.

    Rows whose group is −1 are left out. A number that fewer than ``min_group`` rows of a group have is not released:
    the schema's own mean stands for it. The scatter is the summed squared distance of the values; missing cells have
    none, since the marks of their mean number already add as much as they do on average.
    """
    encode(table, schema)  # complains about columns that are missing, of another kind or width, or have holes
    parts = [_column_means(table, column, groups, min_group) for column in schema.columns]
    inside = groups >= 0
    missing, _ = _means(
        missing_by_column(table, schema)[inside].astype(float), groups[inside], int(groups.max(initial=-1)) + 1, 0
    )
    means = np.hstack([*(means for means, _ in parts), marks(missing, schema)])
    return means, float(sum(scatter for _, scatter in parts))


def _column_means(table: Table, column: ColumnSpec, groups: NDArray[np.int64], min_group: int) -> tuple[Floats, float]:
    inside = groups >= 0
    of, count = groups[inside], int(groups.max(initial=-1)) + 1
    if column.kind == "categorical":
        # Zeros and ones, whatever the schema says: their means are shares.
        values = encode_column(table, column, "indicate")[inside]
        means, _ = _means(values, of, count, 0)
        return means, float(((values - means[of]) ** 2).sum())
    raw = table.columns[column.name]
    raw = np.full(len(table), np.nan) if raw.dtype.kind == "O" else raw
    values = np.asarray(raw, dtype=np.float64).reshape(len(table), -1)[inside]
    means, enough = _means(values, of, count, min_group)
    scatter = np.nansum((values - means[of]) ** 2 * enough[of], axis=0)
    scale = np.array(column.scale)
    return np.where(enough, (means - np.array(column.mean)) / scale, 0.0), float((scatter / scale**2).sum())


def _means(values: Floats, of: NDArray[np.int64], count: int, least: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Means over the values that are there, and whether they are at least so many."""
    there = ~np.isnan(values)
    sums, many = np.zeros((count, values.shape[1])), np.zeros((count, values.shape[1]))
    np.add.at(sums, of, np.where(there, values, 0.0))
    np.add.at(many, of, there)
    return sums / np.maximum(many, 1.0), many >= max(least, 1)
