"""`public_schema`: coordinates for private cards, from a table that is nobody's secret."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from fedbary.data.table import Table
from fedbary.space.fit import fit_schema
from fedbary.space.options import Space, Task
from fedbary.space.public_points import public_points
from fedbary.space.row_points import squares
from fedbary.space.schema import Schema


def public_schema(
    table: Table, *, coordinates: int | Literal["auto", "none"] = "auto", task: Task = "auto", seed: int = 0
) -> Schema:
    """Fit a schema with a clip norm on public rows: a reference, or any table of the same columns.

    ``coordinates`` is the number of principal directions to keep, ``auto`` keeps 64 above 256. Rows are clipped at the
    root mean square of the public rows' lengths: noise is measured by it, and the few rows that are longer keep their
    direction (`fedbary reproduce frontier`).

    Examples
    --------
    >>> import fedbary as fb
    >>> public_schema(fb.Table({"age": [30.0, 50.0], "size": [1.0, 2.0]}, ["a", "b"])).clip
    1.4142135623730951
    """
    settings = Space(task=task, metric="euclidean", labels="onehot", projection=coordinates)
    schema = fit_schema(table, settings, seed=seed)
    return replace(schema, clip=clip_norm(table, schema))


def clip_norm(table: Table, schema: Schema) -> float:
    """The root mean square of the rows' lengths in public coordinates."""
    return float(np.sqrt(squares(public_points(table, schema)).mean())) or 1.0
