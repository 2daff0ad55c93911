"""Row values: what a judgement makes of judged rows, with flags, suspects, reasons and suggestions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.judging.counts import cells_of, smooth_surprise, tail
from fedbary.judging.estimates import Estimate
from fedbary.notes import Note
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ALONE, MEASURED, RowFacts, ScoredRows, few_texts, numbered

if TYPE_CHECKING:
    from fedbary.judging.federation import Judgement
    from fedbary.judging.judge import Judged

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A channel in which nothing is found still counts a little: single rows may stand out.
_LEAST_SHARE = 0.01
# Rows with the same surprise are told apart by their odds, which never outweigh it.
_TIES, _MOST_ODDS = 1e-3, 20.0
# Beyond this statistics are told apart by their logarithm: a cell in a wrong unit may be a million deviations out.
_FAR = 30.0


def valued_rows(
    names: NDArray[np.generic],
    judged: Judged,
    judgement: Judgement,
    classes: tuple[str, ...],
    *,
    rules: RowRules,
    columns: Callable[[Integers], list[str | None]] | None = None,
    gradient: Floats | None = None,
) -> ScoredRows:
    """Values of a client's rows; rows whose class is not known are ranked by their features, and never flagged.

    ``columns`` names the columns that make given rows odd; ``gradient`` is the calibrated one of a transport.
    """
    labels, known = judged.labels, judged.labels.known
    surprise = np.where(known, labels.surprise, 0.0)
    odds = np.where(known, np.log(np.where(known, labels.wrong / labels.right, 1.0)), 0.0)
    label_p = np.where(known, tail(judgement.label_null)[cells_of(surprise)], np.nan)
    feature_p = tail(judgement.feature_null)[cells_of(judged.features)]
    by_label = smooth_surprise(surprise, judgement.label_null) + np.log(max(judgement.label_share, _LEAST_SHARE))
    by_label += _TIES * np.clip(odds, -_MOST_ODDS, _MOST_ODDS)
    by_feature = smooth_surprise(judged.features, judgement.feature_null)
    by_feature += np.log(max(judgement.feature_share, _LEAST_SHARE))
    worst = np.where(known, np.maximum(by_label, by_feature), by_feature)
    value = -np.where(worst > _FAR, _FAR + np.log1p(np.maximum(worst - _FAR, 0.0)), worst)
    label_reason = known & (by_label >= by_feature)
    flag = (label_p <= judgement.label_cut) | (feature_p <= judgement.feature_cut)
    if rules.rule == "sign" and gradient is not None:
        flag = gradient > 0
    bad = bad_rows(judgement.odd, judgement.wrong)
    suspect = suspects(value, flag, bad)
    blamed = np.flatnonzero((flag | suspect) & ~label_reason)
    odd, texts = np.full(len(flag), -1), list[str]()
    if columns is not None and len(blamed):
        odd[blamed], texts = numbered(columns(blamed))
    tested = bool(judgement.label_null.any())
    p_value = np.minimum(1.0, 2.0 * np.fmin(label_p, feature_p))
    told: dict[str, Any] = {
        "row": names,
        "value": value,
        "suspect": suspect,
        "reason": few_texts(np.where(label_reason, 0, 1), ("label", "features")),
        "columns": few_texts(odd, texts),
        "label_score": np.where(known, odds, np.nan),
        "feature_score": judged.features,
        "suggested_label": few_texts(labels.other, classes) if judged.suggested is None else judged.suggested,
        **({} if gradient is None else {"calibrated_gradient": gradient}),
    }
    if tested:
        told |= {"p_value": p_value, "flag": flag, "label_p": label_p, "feature_p": feature_p}
    facts = RowFacts(
        _guarantee(rules, tested=tested),
        judgement.wrong,
        judgement.odd,
        bad,
        suspects=int(suspect.sum()),
        untested=int((~known).sum()),
    )
    return ScoredRows(told, facts)


def bad_rows(odd: Estimate, wrong: Estimate) -> Estimate:
    """Odd rows and wrong labels together: odd rows say little of their label, so that hardly any counts twice."""
    both = zip((odd.share, odd.low, odd.high), (wrong.share, wrong.low, wrong.high), strict=True)
    return Estimate(*(min(1.0, one + other) for one, other in both))


def suspects(values: Floats, flagged: NDArray[np.bool_], bad: Estimate) -> NDArray[np.bool_]:
    """The rows of least value that are not flagged, up to the estimated number of bad rows."""
    missing = max(round(bad.share * len(values)) - int(flagged.sum()), 0)
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(np.where(flagged, np.inf, values), kind="stable")[:missing]] = True
    return chosen


def calibrated_gradient(potentials: Floats) -> Floats:
    """f_l minus the mean of the other rows' f: positive if more mass on row l increases the distance."""
    if len(potentials) < 2:
        return np.zeros(len(potentials))
    others = (potentials.sum() - potentials) / (len(potentials) - 1)
    return np.asarray(potentials - others)


def _guarantee(rules: RowRules, *, tested: bool) -> Note:
    if rules.rule == "sign":
        return Note("valuation.flags-paper-rule")
    return Note(MEASURED, {"rate": rules.fdr}) if tested else Note(ALONE)
