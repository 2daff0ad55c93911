"""Row values from two channels, labels and features, with flags (DESIGN 2.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbary.notes import Note
from fedbary.valuation.conformal import Calibration, benjamini_hochberg, class_weights
from fedbary.valuation.estimates import Estimate
from fedbary.valuation.result import ROW_COLUMNS
from fedbary.valuation.rules import Adapt, RowRules
from fedbary.valuation.scored_rows import MEASURED, PROVED, RowFacts, ScoredRows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# From so many calibration rows in each of a client's classes on, classes are calibrated one by one.
_LARGE_CLASS = 500
UNKNOWN = -1
_ROW_TYPES = {
    "flag": "boolean", "suspect": "boolean", "reason": "string", "columns": "string", "suggested_label": "string",
}  # fmt: skip
# What must be true for flags to keep their rate where the class mix is not corrected for.
_ASSUMED = {
    "labels": "clean feature scores are alike in all classes",
    "none": "the client has the reference's class mix",
}


@dataclass(frozen=True, eq=False)
class Channel:
    """Scores of one kind (higher = worse), for the client's rows and for clean calibration rows."""

    scores: Floats
    p_values: Floats
    surprise: Floats


@dataclass(frozen=True, eq=False)
class CleanRows:
    """What the server says of its calibration rows: log p(c|x), their class, and their feature score."""

    log_probabilities: Floats
    codes: Integers
    feature_scores: Floats


def classified_rows(
    row_names: NDArray[np.generic],
    *,
    log_probabilities: Floats,
    feature_scores: Floats,
    codes: Integers,
    classes: tuple[str, ...],
    clean: CleanRows,
    rules: RowRules,
    adapt: Adapt = "both",
    calibrated_gradient: Floats | None = None,
) -> ScoredRows:
    """Row values of a table with classes; ``codes`` are −1 where the model does not know the class.

    ``adapt`` corrects for a class mix that differs from the reference's: the client's own smoothed class shares
    become the prior, and calibration rows are weighted by class, in both channels or for labels only. Both stay with
    the client.
    """
    from scipy.special import log_softmax

    known = codes != UNKNOWN
    shift = np.zeros(len(classes))
    if adapt != "none":
        shift = _prior_shift(codes[known], clean.codes, len(classes))
    own = log_softmax(log_probabilities + shift, axis=1)
    label_scores = np.full(len(codes), np.nan)
    label_scores[known] = -own[known, codes[known]]
    clean_scores = -log_softmax(clean.log_probabilities + shift, axis=1)[np.arange(len(clean.codes)), clean.codes]
    flat = np.ones(len(classes))
    weights = flat if adapt == "none" else class_weights(codes[known], clean.codes, len(classes))
    channels = {
        "label": Channel(
            label_scores,
            _p_values(label_scores, codes, clean_scores, clean.codes, weights),
            Calibration.of(clean_scores, weights[clean.codes]).surprise(label_scores),
        ),
        # Feature scores are relative to clean rows of the same look, so that for ranking all calibration rows count;
        # p-values still need the client's class mix, for a class that is rare in the reference is scored less surely.
        "feature": Channel(
            feature_scores,
            _p_values(feature_scores, codes, clean.feature_scores, clean.codes, weights if adapt == "both" else flat),
            Calibration.of(clean.feature_scores).surprise(feature_scores),
        ),
    }
    others = own.copy()
    others[known, codes[known]] = -np.inf
    suggestions = np.array(classes)[np.argmax(others, axis=1)]  # the best other class of every row
    facts = RowFacts(_guarantee(rules, assumed=_ASSUMED.get(adapt)), _wrong_labels(own[known], codes[known]))
    return _scored(row_names, channels, suggestions, rules, calibrated_gradient, facts=facts)


def measured_rows(
    row_names: NDArray[np.generic],
    *,
    label_scores: Floats,
    feature_scores: Floats,
    suggestions: NDArray[np.generic],
    clean_label_scores: Floats,
    clean_feature_scores: Floats,
    rules: RowRules,
    calibrated_gradient: Floats | None = None,
) -> ScoredRows:
    """Row values of a table whose label is a number: plain conformal p-values in both channels."""
    channels = {}
    for name, scores, clean in (
        ("label", label_scores, clean_label_scores),
        ("feature", feature_scores, clean_feature_scores),
    ):
        calibration = Calibration.of(clean)
        channels[name] = Channel(scores, calibration.p_values(scores), calibration.surprise(scores))
    return _scored(row_names, channels, suggestions, rules, calibrated_gradient, facts=RowFacts(_guarantee(rules)))


def row_frame(row: np.ndarray, value: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Row values in the contract's columns and types; columns that are not given are NA."""
    import pandas as pd

    frame = pd.DataFrame({"row": row, "value": value, **columns}).reindex(columns=list(ROW_COLUMNS))
    numbers = {name: "float64" for name in ROW_COLUMNS if name not in _ROW_TYPES and name != "row"}
    return frame.astype({**numbers, **_ROW_TYPES})


def calibrated_gradient(potentials: Floats) -> Floats:
    """f_l minus the mean of the other rows' f: positive if more mass on row l increases the distance.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation.row_values import calibrated_gradient
    >>> calibrated_gradient(np.array([1.0, 2.0, 6.0]))
    array([-3. , -1.5,  4.5])
    """
    if len(potentials) < 2:
        return np.zeros(len(potentials))
    others = (potentials.sum() - potentials) / (len(potentials) - 1)
    return np.asarray(potentials - others)


def noise_share(log_probabilities: Floats, codes: Integers, *, steps: int = 200) -> float:
    """Maximum-likelihood share ρ of labels that were replaced by another class at random.

    Each label is right with probability (1 − ρ)·p(y|x), or wrong with ρ·(1 − p(y|x))/(K − 1); EM climbs to the
    best ρ. It is an estimate, not a bound, and as good as the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbary.valuation.row_values import noise_share
    >>> sure = np.log(np.tile([0.998, 0.001, 0.001], (100, 1)))
    >>> round(noise_share(sure, np.repeat([0, 1], [80, 20])), 2)
    0.2
    """
    classes = log_probabilities.shape[1]
    if classes < 2 or not len(codes):
        return float("nan")
    right = np.exp(log_probabilities[np.arange(len(codes)), codes])
    wrong = (1.0 - right) / (classes - 1)
    share = 0.1
    for _ in range(steps):
        blamed = share * wrong
        updated = float((blamed / np.maximum(blamed + (1.0 - share) * right, 1e-300)).mean())
        if abs(updated - share) < 1e-7:
            break
        share = updated
    return share


def _wrong_labels(log_probabilities: Floats, codes: Integers) -> Estimate | None:
    share = noise_share(log_probabilities, codes)
    return None if np.isnan(share) else Estimate(share, share, share)


def _prior_shift(codes: Integers, reference_codes: Integers, classes: int) -> Floats:
    """Logarithm of the client's smoothed class shares over the reference's."""
    own = np.bincount(codes, minlength=classes)[:classes] + 1.0
    theirs = np.bincount(reference_codes, minlength=classes)[:classes] + 1.0
    return np.asarray(np.log(own / own.sum()) - np.log(theirs / theirs.sum()))


def _p_values(scores: Floats, codes: Integers, clean: Floats, clean_codes: Integers, weights: Floats) -> Floats:
    """Conformal p-values by the weighted calibration rows, or class by class where these are many.

    Rows without a score, and rows of a class without any calibration row, get none: nothing could be promised.
    """
    sizes = np.bincount(clean_codes, minlength=len(weights))
    tested = np.isfinite(scores) & (codes >= 0)
    tested[tested] = sizes[codes[tested]] > 0
    p = np.full(len(scores), np.nan)
    present = np.unique(codes[tested])
    if len(present) > 1 and sizes[present].min() >= _LARGE_CLASS:
        for code in present:
            mine = tested & (codes == code)
            p[mine] = Calibration.of(clean[clean_codes == code]).p_values(scores[mine])
    elif len(present):
        p[tested] = Calibration.of(clean, weights[clean_codes]).p_values(scores[tested], weights[codes[tested]])
    return p


def _scored(
    row_names: NDArray[np.generic],
    channels: dict[str, Channel],
    suggestions: NDArray[np.generic],
    rules: RowRules,
    gradient: Floats | None,
    *,
    facts: RowFacts,
) -> ScoredRows:
    label, feature = channels["label"], channels["feature"]
    worst = np.maximum(label.surprise, feature.surprise)
    by_label = label.surprise >= feature.surprise
    least = np.fmin(label.p_values, feature.p_values)
    adjusted = {name: benjamini_hochberg(channel.p_values) for name, channel in channels.items()}
    # Two channels share the rate: Benjamini–Hochberg at q/2 in each, and the union of what they flag.
    flagged = {name: values <= rules.fdr / 2.0 for name, values in adjusted.items()}
    flag = flagged["label"] | flagged["feature"]
    if rules.rule == "sign" and gradient is not None:
        flag = gradient > 0
    either = np.where(by_label, "label", "features")
    reason = np.where(flagged["label"] & flagged["feature"], "label and features", either)
    reason = np.where(flagged["label"] & ~flagged["feature"], "label", reason)
    reason = np.where(flagged["feature"] & ~flagged["label"], "features", reason)
    frame = row_frame(
        row_names,
        -worst,
        feature_score=feature.scores,
        label_score=label.scores,
        calibrated_gradient=np.nan if gradient is None else gradient,
        feature_p=feature.p_values,
        label_p=label.p_values,
        p_value=np.minimum(1.0, 2.0 * least),
        flag=flag,
        reason=reason,
        suggested_label=suggestions,
    )
    smallest = 2.0 * min(float(np.nanmin(values, initial=1.0)) for values in adjusted.values())
    return ScoredRows(frame, replace(facts, smallest_q=min(1.0, smallest), untested=int(np.isnan(least).sum())))


def _guarantee(rules: RowRules, assumed: str | None = None) -> Note:
    if rules.rule == "sign":
        return Note("valuation.flags-paper-rule")
    if rules.calibration == "split":
        return Note(PROVED, {"rate": rules.fdr, "assumed": assumed})
    return Note(MEASURED, {"rate": rules.fdr})
