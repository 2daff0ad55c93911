"""Row values from two channels, labels and features, with flags and suspects (DESIGN 2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbary.compute import NUMPY
from fedbary.data.spool import Spool
from fedbary.notes import Note
from fedbary.valuation.bad_rows import among_all, bad_rows, label_noise, odd_share, wrong_labels
from fedbary.valuation.combined_test import Scores, Tested, combined_test
from fedbary.valuation.conformal import class_weights
from fedbary.valuation.estimates import Estimate
from fedbary.valuation.groups import Groups
from fedbary.valuation.own_rows import blended
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import MEASURED, PROVED, RowFacts, ScoredRows, few_texts, numbered

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNKNOWN = -1
# Times that class shares are corrected for labels that are probably wrong.
_CORRECTIONS = 2
# Where the features are broken, all labels of a class may look wrong; it is still there.
_LEAST_TRUST = 0.25


@dataclass(frozen=True, eq=False)
class CleanRows:
    """What the server says of rows that it holds for clean: log p(c|x), their class, and their feature score."""

    log_probabilities: Spool
    codes: Integers
    feature_scores: Floats


@dataclass(frozen=True, eq=False)
class OwnRows:
    """What the received model says of a client's rows; ``codes`` are −1 where it does not know the class.

    ``whitened`` are the rows in the model's metric, by which the client's own class means help; ``columns`` names the
    columns that make given rows odd, which come in order. What is more than a number of each row is a spool.
    """

    names: NDArray[np.generic]
    log_probabilities: Spool
    feature_scores: Floats
    codes: Integers
    whitened: Spool | None = None
    columns: Callable[[Integers], list[str | None]] | None = None


def classified_rows(
    rows: OwnRows,
    classes: tuple[str, ...],
    clean: CleanRows,
    *,
    null: CleanRows | None = None,
    rules: RowRules,
    adapt: bool = True,
    calibrated_gradient: Floats | None = None,
    groups: Groups | None = None,
) -> ScoredRows:
    """Row values of a table with classes.

    ``adapt`` corrects for a class mix that differs from the reference's: the client's own class shares, without labels
    that are probably wrong, become the prior, and calibration rows are weighted by class. Both stay with the client.
    Without it, ``null`` makes the test the one that is proved (`combined_test`). With ``groups`` the estimated
    shares may leave.
    """
    known, count = rows.codes != UNKNOWN, len(classes)
    shift, weights = np.zeros(count), np.ones(count)
    if adapt:
        shift, weights = own_mix(rows.log_probabilities, rows.codes, clean.codes, count, groups)
    own = shifted(rows.log_probabilities, shift)
    label, suggested = _label_scores(own.parts(), rows.codes)
    mine = Scores(label, rows.feature_scores, np.where(known, weights[rows.codes], 0.0))
    if rows.whitened is not None:
        label, suggested = _label_scores(blended(own, rows.whitened, rows.codes), rows.codes)
    ranked = replace(mine, label=label)
    theirs = _clean_scores(clean, shift, weights)
    exact = null if rules.calibration == "split" and not adapt else None
    tested = combined_test(mine, theirs, None if exact is None else _clean_scores(exact, shift, weights), ranked=ranked)
    seen = np.isfinite(tested.feature_p)
    odd = odd_share(tested.feature_p[seen], clean_rows=theirs.effective, groups=groups and groups.among(seen))
    judged = known & ~_worst(np.where(known, rows.feature_scores, -np.inf), round(odd.share * known.sum()))
    # The label of a row whose features are odd says nothing.
    right = np.exp(-mine.label[judged])
    wrong = wrong_labels(right, count, clean_rows=theirs.effective, groups=groups and groups.among(judged))
    wrong = among_all(wrong, judged.sum() / max(known.sum(), 1))
    details = {
        "label_score": ranked.label,
        "feature_score": ranked.feature,
        "suggested_label": few_texts(suggested, classes),  # the best other class of every row
    }
    facts = RowFacts(_guarantee(rules, proved=exact is not None), wrong, odd, bad_rows(odd, wrong))
    return _scored(rows.names, tested, rules, calibrated_gradient, facts=facts, details=details, columns=rows.columns)


def measured_rows(
    row_names: NDArray[np.generic],
    scores: Scores,
    clean: Scores,
    *,
    null: Scores | None = None,
    suggestions: Floats,
    rules: RowRules,
    calibrated_gradient: Floats | None = None,
    groups: Groups | None = None,
) -> ScoredRows:
    """Row values of a table whose label is a number: no classes, so that all rows count the same."""
    tested = combined_test(scores, clean, null)
    odd = odd_share(tested.feature_p, clean_rows=clean.effective, groups=groups)
    usual = ~_worst(scores.feature, round(odd.share * len(row_names)))
    wrong = odd_share(tested.label_p[usual], clean_rows=clean.effective, groups=groups and groups.among(usual))
    wrong = among_all(wrong, float(usual.mean()))
    facts = RowFacts(_guarantee(rules, proved=null is not None), wrong, odd, bad_rows(odd, wrong))
    details = {"label_score": scores.label, "feature_score": scores.feature, "suggested_label": suggestions}
    return _scored(row_names, tested, rules, calibrated_gradient, facts=facts, details=details)


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


def suspects(values: Floats, flagged: NDArray[np.bool_], bad: Estimate) -> NDArray[np.bool_]:
    """The rows of least value that are not flagged, up to the estimated number of bad rows."""
    missing = round(bad.share * len(values)) - int(flagged.sum())
    return _worst(np.where(flagged, -np.inf, -values), max(missing, 0))


def own_mix(
    log_probabilities: Spool, codes: Integers, reference_codes: Integers, classes: int, groups: Groups | None
) -> tuple[Floats, Floats]:
    """Shift of log-probabilities to the client's class shares, and weights of classes, both by labels that are right.

    Wrong labels would make rare classes look frequent, and the clean rows of frequent ones count too little.
    """
    known = codes != UNKNOWN
    groups = groups and groups.among(known)
    theirs = np.bincount(reference_codes, minlength=classes).astype(float)
    counts = there = np.bincount(codes[known], minlength=classes).astype(float)
    if groups is not None:
        counts = there = groups.whole(counts)
    shift = _prior_shift(counts, theirs)
    for _ in range(_CORRECTIONS):
        right = np.exp(-_label_scores(shifted(log_probabilities, shift).parts(), codes)[0][known])
        right = right if groups is None else groups.ends_shared(right)
        trusted = np.bincount(codes[known], 1.0 - label_noise(right, classes).blamed, minlength=classes).astype(float)
        if groups is not None:
            trusted = groups.whole(trusted)
        counts = np.maximum(trusted, _LEAST_TRUST * there)
        shift = _prior_shift(counts, theirs)
    return shift, class_weights(counts, theirs)


def shifted(log_probabilities: Spool, shift: Floats) -> Spool:
    """Log-probabilities under another prior."""
    found = Spool(log_probabilities.width)
    for logs in log_probabilities.parts():
        found.append(NUMPY.log_softmax(logs + shift))
    return found


def _prior_shift(counts: Floats, reference_counts: Floats) -> Floats:
    """Logarithm of the client's smoothed class shares over the reference's."""
    own, theirs = counts + 1.0, reference_counts + 1.0
    return np.asarray(np.log(own / own.sum()) - np.log(theirs / theirs.sum()))


def _label_scores(log_probabilities: Iterable[Floats], codes: Integers) -> tuple[Floats, Integers]:
    """−log p of each row's label, NaN where its class is unknown, and the likeliest of the other classes."""
    scores, others, start = np.full(len(codes), np.nan), np.zeros(len(codes), dtype=np.int64), 0
    for logs in log_probabilities:
        place = slice(start, start + len(logs))
        known = np.flatnonzero(codes[place] != UNKNOWN)
        label = codes[place][known]
        scores[place][known] = -logs[known, label]
        without = logs.copy()
        without[known, label] = -np.inf
        others[place], start = np.argmax(without, axis=1), place.stop
    return scores, others


def _clean_scores(clean: CleanRows, shift: Floats, weights: Floats) -> Scores:
    logs = shifted(clean.log_probabilities, shift).parts()
    return Scores(_label_scores(logs, clean.codes)[0], clean.feature_scores, weights[clean.codes])


def _worst(scores: Floats, count: int) -> NDArray[np.bool_]:
    """The ``count`` rows with the highest scores."""
    chosen = np.zeros(len(scores), dtype=bool)
    if count > 0:
        chosen[np.argsort(-scores, kind="stable")[:count]] = True
    return chosen


def _scored(
    row_names: NDArray[np.generic],
    tested: Tested,
    rules: RowRules,
    gradient: Floats | None,
    *,
    facts: RowFacts,
    details: dict[str, Any],
    columns: Callable[[Integers], list[str | None]] | None = None,
) -> ScoredRows:
    flag = tested.adjusted <= rules.fdr
    if rules.rule == "sign" and gradient is not None:
        flag = gradient > 0
    value = -tested.statistic
    suspect = suspects(value, flag, facts.bad_rows) if facts.bad_rows is not None else np.zeros(len(flag), dtype=bool)
    blamed = np.flatnonzero((flag | suspect) & ~tested.by_label)
    odd, names = np.full(len(flag), -1), list[str]()
    if columns is not None and len(blamed):
        odd[blamed], names = numbered(columns(blamed))
    told = {
        "row": row_names,
        "value": value,
        "p_value": tested.p_values,
        "flag": flag,
        "suspect": suspect,
        "reason": few_texts(np.where(tested.by_label, 0, 1), ("label", "features")),
        "columns": few_texts(odd, names),
        "label_p": tested.label_p,
        "feature_p": tested.feature_p,
        **({} if gradient is None else {"calibrated_gradient": gradient}),
        **details,
    }
    smallest = min(1.0, float(np.nanmin(tested.adjusted, initial=1.0)))
    untested = int(np.isnan(tested.p_values).sum())
    return ScoredRows(told, replace(facts, smallest_q=smallest, untested=untested, suspects=int(suspect.sum())))


def _guarantee(rules: RowRules, *, proved: bool) -> Note:
    if rules.rule == "sign":
        return Note("valuation.flags-paper-rule")
    return Note(PROVED if proved else MEASURED, {"rate": rules.fdr})
