"""The order of clients, and the places that each may hold: who cannot be told apart shares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

Floats = NDArray[np.float64]


def ranking(result: Valuation) -> pd.DataFrame:
    """The clients, best first: by quality where there is one, else by Shapley values, else by share."""
    import pandas as pd

    clients = result.clients
    keys, low, high = _order(result)
    failed = result.failed
    valued = np.array([str(name) not in failed for name in clients["client"]], dtype=bool)
    # Of a valued client without a number nothing is known, and so it may hold any place.
    low, high = (
        np.where(valued, np.where(np.isnan(end), any_, end), np.nan) for end, any_ in ((low, -np.inf), (high, np.inf))
    )
    best_first = np.lexsort([np.where(np.isnan(key), np.inf, -key) for key in reversed(keys)])
    ranked = clients.iloc[best_first].reset_index(drop=True)
    ranks = pd.Series(places(low, high), dtype="string")
    ranked.insert(0, "rank", ranks.iloc[best_first].reset_index(drop=True))
    return ranked


def places(low: Floats, high: Floats) -> list[str | None]:
    """Which places each may hold, of a number that is better the higher it is and lies in ``[low, high]``.

    The first is one more than there are others certainly better, the last leaves room for all certainly worse; None
    for whoever has no interval at all.
    """
    known = ~np.isnan(low)
    count = int(known.sum())
    first = 1 + count - np.searchsorted(np.sort(low[known]), high, side="right")
    last = count - np.searchsorted(np.sort(high[known]), low, side="left")
    return [
        None if not here else str(f) if f == z else f"{f}–{z}" for here, f, z in zip(known, first, last, strict=True)
    ]


def _order(result: Valuation) -> tuple[list[Floats], Floats, Floats]:
    """What to sort by, most important first, and the interval in which it lies."""
    frame = result.clients
    share, quality = _numbers(frame, "share"), _numbers(frame, "quality")
    if not np.isnan(quality).all():
        return [quality, share], _known(frame, "quality_low", quality), _known(frame, "quality_high", quality)
    if result.scores is not None:
        worth = result.scores.intervals()
        none = (np.nan, np.nan, np.nan)
        value, low, high = np.array([worth.get(str(name), none) for name in frame["client"]]).reshape(-1, 3).T
        return [value], low, high
    distance = _numbers(frame, "distance")
    return [share], -_known(frame, "high", distance), -_known(frame, "low", distance)


def _known(frame: pd.DataFrame, name: str, otherwise: Floats) -> Floats:
    numbers = _numbers(frame, name)
    return np.where(np.isnan(numbers), otherwise, numbers)


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    return frame[name].to_numpy(dtype=float, na_value=np.nan)
