"""How well two methods agree, and how well one finds what is known to be wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbary.errors import SettingsError
from fedbary.valuation.clients import ClientScores

Floats = NDArray[np.float64]


def agreement(scores: ClientScores, truth: ClientScores) -> dict[str, float]:
    """Rank correlations and the mean absolute difference of shares; NaN where one side has no order."""
    if scores.clients != truth.clients:
        raise SettingsError("research.scores-of-other-clients")
    apart = np.abs(scores.shares - truth.shares)
    apart = apart[np.isfinite(apart)]
    return {
        **rank_correlations(scores.values, truth.values),
        "share_error": float(apart.mean()) if len(apart) else float("nan"),
    }


def rank_correlations(values: Floats, truth: Floats) -> dict[str, float]:
    """Spearman's and Kendall's correlation where both are known; NaN where one side has no order."""
    from scipy.stats import kendalltau, spearmanr

    known = np.isfinite(values) & np.isfinite(truth)
    a, b = values[known], truth[known]
    varied = len(a) > 1 and np.ptp(a) > 0 and np.ptp(b) > 0
    return {
        "spearman": float(spearmanr(a, b).statistic) if varied else float("nan"),
        "kendall": float(kendalltau(a, b).statistic) if varied else float("nan"),
    }


def auroc(values: Floats, wrong: NDArray[np.bool_]) -> float:
    """Chance that a wrong row has a lower value than another; NaN if there are no wrong ones, or no others."""
    from sklearn.metrics import roc_auc_score

    known = np.isfinite(values)
    values, wrong = values[known], wrong[known]
    return float(roc_auc_score(wrong, -values)) if 0 < wrong.sum() < len(wrong) else float("nan")
