"""Which clients to invite, and how much each should count: by the verdict first, by numbers then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbary.errors import SettingsError, wrong_parameter
from fedbary.valuation.verdict import Advice

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.valuation.result import Valuation

_OUT = (Advice.LEAVE, Advice.NOT_VALUED)
_BY = ("quality", "share", "rows", "both")


def select(
    result: Valuation, *, k: int | None = None, share: float | None = None, quality: float | None = None
) -> list[str]:
    """Names of clients, best first: those to include, or by one criterion all but those to leave out."""
    given = [name for name, value in (("k", k), ("share", share), ("quality", quality)) if value is not None]
    if len(given) > 1:
        raise SettingsError("valuation.not-one-criterion", given=" and ".join(given))
    ranked = result.ranking()
    # In the order of the ranking, as the verdict is.
    advice = np.array([opinion.advice for opinion in result.verdict()], dtype=object)
    if not given:
        return _names(ranked[advice == Advice.INCLUDE])
    ranked = ranked[~np.isin(advice, _OUT)]
    if k is not None:
        if k < 1:
            raise wrong_parameter("k", "select", "at least 1", k)
        return _names(ranked)[:k]
    if share is not None:
        if not 0.0 < share <= 1.0:
            raise wrong_parameter("share", "select", "in (0, 1]", share)
        if result.clients["share"].isna().all():
            raise SettingsError("valuation.no-share-to-select")
        together = np.cumsum(ranked["share"].fillna(0.0).to_numpy(dtype=float))
        enough = int(np.searchsorted(together, share * together[-1] - 1e-12)) if len(together) else 0
        return _names(ranked)[: enough + 1]
    if result.clients["quality"].isna().all():
        raise SettingsError("valuation.no-quality")
    return _names(ranked[(ranked["quality"] >= quality).fillna(False)])


def weights(result: Valuation, by: Literal["quality", "share", "rows", "both"] = "quality") -> dict[str, float]:
    """Weights of the clients that add up to one."""
    if by not in _BY:
        raise wrong_parameter("by", "weights", "'quality', 'share', 'rows' or 'both'", by)
    clients = result.clients
    if by == "quality" and clients["quality"].isna().all():
        by = "share"
    if by in ("share", "both") and clients["share"].isna().all():
        raise SettingsError("valuation.no-share-to-weigh")
    advice = {opinion.client: opinion.advice for opinion in result.verdict()}
    parts = np.array([float(advice[str(name)] not in _OUT) for name in clients["client"]])
    for name in {"quality": ("rows", "quality"), "both": ("rows", "share")}.get(by, (by,)):
        parts = parts * clients[name].fillna(0).to_numpy(dtype=float)
    if not parts.sum() > 0:
        raise SettingsError("valuation.nobody-to-weigh")
    return dict(zip(map(str, clients["client"]), (parts / parts.sum()).tolist(), strict=True))


def _names(ranked: pd.DataFrame) -> list[str]:
    return [str(name) for name in ranked["client"]]
