"""The frames of a result, with every column of the contract in its fixed type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbary.valuation.contribution import share_bounds, shares
from fedbary.valuation.result import CLIENT_COLUMNS, ROW_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_CLIENT_TYPES = {"rows": "Int64", "flagged": "Int64", "client": "string", "status": "string", "notes": "string"}
_ROW_TYPES = {"flag": "boolean", "reason": "string", "suggested_label": "string"}


def client_frame(records: Sequence[Mapping[str, Any]], *, spread: float) -> pd.DataFrame:
    """One row per client from records with ``client``, ``outcome`` and, where known, the other columns.

    Shares follow from the distances; whatever a record lacks is NA.
    """
    import pandas as pd

    spelt_out = [
        {**record, "status": str(record["outcome"].status), "notes": record["outcome"].text} for record in records
    ]
    frame = pd.DataFrame.from_records(spelt_out).reindex(columns=list(CLIENT_COLUMNS))
    numbers = {name: "float64" for name in CLIENT_COLUMNS if name not in _CLIENT_TYPES}
    frame = frame.astype(numbers)
    distance, low, high = (frame[name].to_numpy(dtype=float) for name in ("distance", "low", "high"))
    if np.isfinite(distance).any():
        frame["share"] = shares(distance, spread=spread)
        if np.isfinite(high).any():
            frame["share_low"], frame["share_high"] = share_bounds(low, high, spread=spread)
    return frame.astype(_CLIENT_TYPES)


def row_frame(row: np.ndarray, value: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Row values in the contract's columns and types; columns that are not given are NA."""
    import pandas as pd

    frame = pd.DataFrame({"row": row, "value": value, **columns}).reindex(columns=list(ROW_COLUMNS))
    numbers = {name: "float64" for name in ROW_COLUMNS if name not in _ROW_TYPES and name != "row"}
    return frame.astype({**numbers, **_ROW_TYPES})
