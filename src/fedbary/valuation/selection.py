"""Which clients to invite, and how much each should count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbary.errors import SettingsError, wrong_parameter

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation


def select(
    result: Valuation, *, k: int | None = None, share: float | None = None, quality: float | None = None
) -> list[str]:
    """Names of the best clients, best first; exactly one criterion is given."""
    given = [name for name, value in (("k", k), ("share", share), ("quality", quality)) if value is not None]
    if len(given) != 1:
        raise SettingsError("valuation.not-one-criterion", given=" and ".join(given) or "none")
    ranked = result.ranking()
    ranked = ranked[~ranked["client"].isin(list(result.failed))]
    names = [str(name) for name in ranked["client"]]
    if k is not None:
        if k < 1:
            raise wrong_parameter("k", "select", "at least 1", k)
        return names[:k]
    if share is not None:
        if not 0.0 < share <= 1.0:
            raise wrong_parameter("share", "select", "in (0, 1]", share)
        if ranked["share"].isna().all():
            raise SettingsError("valuation.no-share-to-select")
        together = np.cumsum(ranked["share"].fillna(0.0).to_numpy(dtype=float))
        return names[: int(np.searchsorted(together, share - 1e-12)) + 1]
    if ranked["closeness"].isna().all():
        raise SettingsError("valuation.no-quality")
    good = ranked[ranked["closeness"] >= quality].sort_values("closeness", ascending=False, kind="stable")
    return [str(name) for name in good["client"]]


def weights(result: Valuation, by: Literal["share", "rows", "both"] = "share") -> dict[str, float]:
    """Weights of the valued clients that add up to one."""
    if by not in ("share", "rows", "both"):
        raise wrong_parameter("by", "weights", "'share', 'rows' or 'both'", by)
    valued = result.clients[~result.clients["client"].isin(list(result.failed))]
    if by != "rows" and valued["share"].isna().all():
        raise SettingsError("valuation.no-share-to-weigh")
    parts = np.ones(len(valued))
    if by in ("share", "both"):
        parts = parts * valued["share"].fillna(0.0).to_numpy(dtype=float)
    if by in ("rows", "both"):
        parts = parts * valued["rows"].to_numpy(dtype=float)
    return dict(zip(map(str, valued["client"]), (parts / parts.sum()).tolist(), strict=True))
