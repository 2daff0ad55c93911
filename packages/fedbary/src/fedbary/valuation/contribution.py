"""Shares, what part of the total each client contributes, and the frame of clients that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.outcome import Outcome
from fedbary.valuation.result import CLIENT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

# δ of the shares, in spreads of the target.
SMOOTHING = 0.1
_CLIENT_TYPES = {"rows": "Int64", "flagged": "Int64", "client": "string", "status": "string", "notes": "string"}


def shares(distances: Floats, *, spread: float = 0.0) -> Floats:
    """(1/(d_i + δ)) / Σ_j (1/(d_j + δ)), the paper's shares with δ; clients without a distance (NaN) get NaN.

    δ is a tenth of the target's ``spread``. Distances are mostly said by the clients themselves, and with δ = 0 whoever
    claims 0 takes all; so its share is at most 1 + d/δ times that of a client at distance d, eleven times where that is
    one spread away. Equal distances have equal shares, and the order of shares is that of the distances.
    """
    inverse = _inverse(distances, spread)
    return inverse / np.nansum(inverse)


def share_bounds(low: Floats, high: Floats, *, spread: float = 0.0) -> tuple[Floats, Floats]:
    """Smallest and largest share that distances within ``[low, high]`` allow."""
    best, worst = _inverse(low, spread), _inverse(high, spread)
    others_best, others_worst = np.nansum(best) - best, np.nansum(worst) - worst
    return worst / (worst + others_best), best / (best + others_worst)


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


def outcomes_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Outcome]:
    """The outcomes in such records, by client."""
    return {str(record["client"]): record["outcome"] for record in records}


def _inverse(distances: Floats, spread: float) -> Floats:
    return 1.0 / (distances + max(SMOOTHING * spread, np.finfo(float).tiny ** 0.5))
