"""Which clients to invite, and how much each should count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbary.errors import SettingsError

if TYPE_CHECKING:
    from fedbary.valuation.result import Valuation


def select(
    result: Valuation, *, k: int | None = None, share: float | None = None, quality: float | None = None
) -> list[str]:
    """Names of the best clients, best first; exactly one criterion is given."""
    given = [name for name, value in (("k", k), ("share", share), ("quality", quality)) if value is not None]
    if len(given) != 1:
        raise SettingsError(f"select needs one of k, share and quality. Got {' and '.join(given) or 'none'}.")
    ranked = result.ranking()
    ranked = ranked[~ranked["client"].isin(list(result.failed))]
    names = [str(name) for name in ranked["client"]]
    if k is not None:
        if k < 1:
            raise SettingsError(f"The 'k' parameter of select must be at least 1. Got {k!r} instead.")
        return names[:k]
    if share is not None:
        if not 0.0 < share <= 1.0:
            raise SettingsError(f"The 'share' parameter of select must lie in (0, 1]. Got {share!r} instead.")
        if ranked["share"].isna().all():
            raise SettingsError("No client has a share in this result: select by k or quality.")
        together = np.cumsum(ranked["share"].fillna(0.0).to_numpy(dtype=float))
        return names[: int(np.searchsorted(together, share - 1e-12)) + 1]
    if ranked["quality"].isna().all():
        raise SettingsError("This protocol gives no quality: use sketch or consensus, or select by k or share.")
    good = ranked[ranked["quality"] >= quality].sort_values("quality", ascending=False, kind="stable")
    return [str(name) for name in good["client"]]


def weights(result: Valuation, by: Literal["share", "rows", "both"] = "share") -> dict[str, float]:
    """Weights of the valued clients that add up to one."""
    if by not in ("share", "rows", "both"):
        raise SettingsError(f"The 'by' parameter of weights must be 'share', 'rows' or 'both'. Got {by!r} instead.")
    valued = result.clients[~result.clients["client"].isin(list(result.failed))]
    if by != "rows" and valued["share"].isna().all():
        raise SettingsError("No client has a share in this result: weigh by='rows'.")
    parts = np.ones(len(valued))
    if by in ("share", "both"):
        parts = parts * valued["share"].fillna(0.0).to_numpy(dtype=float)
    if by in ("rows", "both"):
        parts = parts * valued["rows"].to_numpy(dtype=float)
    return dict(zip(map(str, valued["client"]), (parts / parts.sum()).tolist(), strict=True))
