"""One test of a row by two channels, its label and its features (DESIGN 2.6).

Two tests at half the rate each, and a maximum in which a quiet channel drowns a loud one, throw most of the power away.
Instead a channel counts as much as there is to be found in it: a row's statistic is the larger of u + log π̂ over the
channels, u how surprising its score is among clean rows, π̂ the estimated share of unusual rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbary.valuation.bad_rows import odd_share
from fedbary.valuation.conformal import Calibration, adjusted

Floats = NDArray[np.float64]

# A channel in which nothing is found still counts a little: single rows may stand out.
_LEAST_SHARE = 0.003
# The tail of clean scores is never taken to be shorter than this. A label score is −log p, and a model that is right
# about its p has P(score > s) of e^−s at most, times the classes; feature scores come in units of their spread.
_LEAST_EXCESS = {"label": 1.0, "feature": 0.3}
# Beyond this statistics are told apart by their logarithm: a cell in a wrong unit may be a million deviations out.
_FAR = 30.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of rows in both channels (higher = worse, NaN where there is none), and how much each row counts."""

    label: Floats
    feature: Floats
    weights: Floats

    def channel(self, name: str) -> Floats:
        """One of the two."""
        return self.label if name == "label" else self.feature

    @property
    def effective(self) -> float:
        """How many rows of equal weight would tell as much."""
        return float(self.weights.sum() ** 2 / max(float((self.weights**2).sum()), 1e-300))


@dataclass(frozen=True, eq=False)
class Tested:
    """What the test says of each row."""

    statistic: Floats
    by_label: NDArray[np.bool_]
    p_values: Floats
    adjusted: Floats
    label_p: Floats
    feature_p: Floats


def combined_test(rows: Scores, clean: Scores, null: Scores | None = None, *, ranked: Scores | None = None) -> Tested:
    """Test rows against clean ones.

    Without ``null`` the clean rows also say how surprising a score is, and the rows alone how much there is to be found
    in a channel: more power, but clean rows and tested ones do not play the same part, so the rate is measured and not
    proved. With it, surprise comes from ``null``, and shares from clean and tested rows pooled: the statistic is then a
    function that treats both alike, and with equal weights Benjamini–Hochberg by Storey's share of clean rows keeps the
    false-discovery rate if clean rows are exchangeable (AdaDetect, Marandon et al. 2024).

    ``ranked`` are scores to rank by where they are better than those that were calibrated; p-values do not use them.
    """
    judge = clean if null is None else null
    testable = np.isfinite(rows.label) & (rows.weights > 0)
    statistics, ranks, tails = [], [], {}
    for name, least in _LEAST_EXCESS.items():
        scores, known = rows.channel(name), clean.channel(name)
        surprise = Calibration.of(judge.channel(name), judge.weights, least_excess=least)
        # Where clean rows do both, they are sorted once: no p-value looks at how long the tail is.
        among = surprise if null is None else Calibration.of(known, clean.weights)
        tails[name] = among.p_values(np.where(testable, scores, np.nan), rows.weights)
        seen = tails[name]
        if null is not None:
            seen = surprise.p_values(np.concatenate([scores, known]))
        found = odd_share(seen[np.isfinite(seen)], clean_rows=judge.effective)
        bonus = np.log(max(found.low, _LEAST_SHARE))
        own, better = surprise.surprise(scores), (ranked or rows).channel(name)
        statistics.append((own + bonus, surprise.surprise(known) + bonus))
        ranks.append((own if better is scores else surprise.surprise(better)) + bonus)
    tested, calibrating = (np.maximum(*pair) for pair in zip(*statistics, strict=True))
    p = Calibration.of(calibrating, clean.weights).p_values(np.where(testable, tested, np.nan), rows.weights)
    worst = np.maximum(*ranks)
    return Tested(_near(worst), ranks[0] >= ranks[1], p, adjusted(p), tails["label"], tails["feature"])


def _near(statistic: Floats) -> Floats:
    """The same order in small numbers."""
    return np.where(statistic > _FAR, _FAR + np.log1p(np.maximum(statistic - _FAR, 0.0)), statistic)
