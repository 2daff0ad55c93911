"""The columns of row values, and the frame in which people get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.data.table import Table

if TYPE_CHECKING:
    import pandas as pd

ROW_COLUMNS = (
    "row", "value", "p_value", "flag", "suspect", "reason", "columns", "suggested_label",
    "label_score", "feature_score", "label_p", "feature_p", "calibrated_gradient",
)  # fmt: skip
_TYPES = {
    "flag": "boolean", "suspect": "boolean", "reason": "string", "columns": "string", "suggested_label": "string",
}  # fmt: skip


def row_frame(row: np.ndarray, value: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Row values in the contract's columns and types; columns that are not given are NA."""
    import pandas as pd

    suggested = columns.get("suggested_label")
    if getattr(suggested, "dtype", None) == np.float64:
        columns = {**columns, "suggested_label": [f"{number:.6g}" for number in np.asarray(suggested)]}

    frame = pd.DataFrame({"row": row, "value": value, **columns}).reindex(columns=list(ROW_COLUMNS))
    numbers = {name: "float64" for name in ROW_COLUMNS if name not in _TYPES and name != "row"}
    return frame.astype({**numbers, **_TYPES})


def are_called(names: Any, table: Table) -> bool:
    """Whether names of rows are those of a table's rows, in their order.

    Examples
    --------
    >>> table = Table({"age": [31, 45]}, labels=["yes", "no"])
    >>> are_called(["0", 1], table), are_called([1, 0], table)
    (True, False)
    """
    own, others = table.row_names, np.asarray(names)
    if own.dtype.kind in "iu" and others.dtype.kind in "iu":
        return np.array_equal(own, others)
    return [str(name) for name in own] == [str(name) for name in others]
