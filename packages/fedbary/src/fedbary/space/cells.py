"""What one cell says: a number, or nothing.

Each cell by itself: a column's type depends on all of its rows, and a cell must mean the same beside any others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cell_numbers(values: NDArray[np.generic]) -> Floats:
    """The numbers in a column's cells, NaN where there is none.

    Examples
    --------
    >>> cell_numbers(np.array(["60", "unknown", None, "True"], dtype=object))
    array([60., nan, nan,  1.])
    """
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    return np.array([_number(cell) for cell in values.tolist()], dtype=np.float64)


def _number(cell: object) -> float:
    text = str(cell).strip()
    if text.lower() in ("true", "false"):  # in whatever letters, as a column of nothing else is read as booleans
        return float(text.lower() == "true")
    try:
        return float(text)
    except ValueError:
        return float("nan")
