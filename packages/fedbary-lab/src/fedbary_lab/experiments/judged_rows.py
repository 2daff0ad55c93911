"""How well a method's row values agree with what was really spoilt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Note
from fedbary.space.labels import class_names
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import Spoilt

if TYPE_CHECKING:
    import pandas as pd


def judged(client: Spoilt, rows: pd.DataFrame | Note, noise: str, fdr: float) -> Record:
    """How well values, scores and flags agree with what was really spoilt.

    ``channel`` and ``ceiling`` are the AUROC of the better one of label score and feature score, and its `best_recall`;
    ``behind`` is how much less the AUROC of ``value`` is, which does not know what kind of noise to look for. Where
    some rows have no score of this kind (``unscored``, their share) these three are left out.
    """
    from sklearn.metrics import roc_auc_score

    if isinstance(rows, Note):
        return {"error": str(rows)}
    value, mask = rows["value"].to_numpy(dtype=float), client.mask
    if np.isnan(value).any():
        return {"error": f"{np.isnan(value).sum()} rows have no value"}
    # Ties are broken at random, so that no method gains from the order of the rows.
    worst = np.lexsort([np.random.default_rng(0).random(len(value)), value])[: int(mask.sum())]
    record: Record = {"auroc": float(roc_auc_score(mask, -value)), "precision": float(mask[worst].mean())}
    missing = rows["label_score" if noise.startswith("labels") else "feature_score"].isna()
    if not missing.all():
        record["unscored"] = float(missing.mean())
    if known := _scores(rows, noise):
        record["channel"] = max(float(roc_auc_score(mask, score)) for score in known)
        record["behind"] = record["channel"] - record["auroc"]
    if rows["flag"].notna().all():
        flag = rows["flag"].to_numpy(dtype=bool)
        record["fdr"] = float((flag & ~mask).sum() / max(1, flag.sum()))
        record["recall"] = float(flag[mask].mean())
        if known:
            record["ceiling"] = max(best_recall(score, mask, fdr) for score in known)
    suggested = rows["suggested_label"]
    if noise.startswith("labels") and suggested[mask].notna().any():
        right = suggested.fillna("").to_numpy(dtype=str) == class_names(client.truth)
        record["suggestions"] = float(right[mask].mean())
    return record


def best_recall(score: NDArray[np.float64], mask: NDArray[np.bool_], fdr: float) -> float:
    """The largest share of the spoilt rows above a threshold above which at most the share ``fdr`` is clean.

    Examples
    --------
    >>> best_recall(np.array([5.0, 4.0, 3.0, 3.0]), np.array([True, True, True, False]), 0.1)
    0.6666666666666666
    """
    order = np.argsort(-score, kind="stable")
    spoilt, count = np.cumsum(mask[order]), np.arange(1, len(score) + 1)
    last = np.append(np.diff(score[order]) != 0, True)  # equal scores lie on the same side of any threshold
    allowed = last & (count - spoilt <= fdr * count)
    return float(spoilt[allowed].max(initial=0) / max(1, mask.sum()))


def _scores(rows: pd.DataFrame, noise: str) -> list[NDArray[np.float64]]:
    """Both scores, that of this kind of noise first; nothing where a method does not have that one for every row."""
    names = ("label_score", "feature_score") if noise.startswith("labels") else ("feature_score", "label_score")
    own, other = (rows[name].to_numpy(dtype=float) for name in names)
    if not np.isfinite(own).all():
        return []
    return [own, other] if np.isfinite(other).all() else [own]
