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

# Relative to the public rows' lengths: less loses more at large ε than it wins at small ones.
_CLIP = 0.8


def public_schema(
    table: Table, *, coordinates: int | Literal["auto", "none"] = "auto", task: Task = "auto", seed: int = 0
) -> Schema:
    """Fit a schema with a clip norm on public rows: a reference, or any table of the same columns.

    ``coordinates`` is the number of principal directions to keep, ``auto`` keeps 64 above 256. Rows are clipped at 0.8
    times the root mean square of the public rows' lengths: noise is measured by it, and longer rows keep their
    direction (docs/cards-privacy.md).

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.public_schema(fb.Table({"age": [30.0, 50.0], "size": [1.0, 2.0]}, ["a", "b"])).clip
    1.1313708498984762
    """
    settings = Space(task=task, metric="euclidean", labels="onehot", projection=coordinates)
    schema = fit_schema(table, settings, seed=seed)
    return replace(schema, clip=clip_norm(table, schema))


def clip_norm(table: Table, schema: Schema) -> float:
    """What rows are clipped at, by the root mean square of public rows' lengths: no row's own length is told."""
    return clip_of_standard_rows(float(squares(public_points(table, schema)).mean())) or 1.0


def clip_of_standard_rows(squared_length: float) -> float:
    """What rows are clipped at whose mean squared length is this."""
    return _CLIP * float(np.sqrt(squared_length))
