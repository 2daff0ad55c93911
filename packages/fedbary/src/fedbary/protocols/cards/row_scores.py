"""A client's rows, valued at home by the model that others' cards made.

With a reference, its rows calibrate everything. Without one nothing is known to be clean, so a row is compared with
what the model itself expects: labels drawn from p(c|x), and features that scatter like most of the client's own rows
of the same class. That ranks rows and estimates shares; it is no test, so nothing is flagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, ndtri

from fedbary.data.ahead import ahead
from fedbary.data.spool import Spool
from fedbary.data.table import PART, Table
from fedbary.errors import ProtocolError
from fedbary.notes import Note
from fedbary.protocols.sketch.scoring import Judge, Judged, clean_rows, without_rare_classes
from fedbary.space.cell_counts import CellCounter, CellCounts
from fedbary.space.parts import encoded_parts
from fedbary.space.points import cells_of_a_row, place
from fedbary.space.schema import Schema
from fedbary.valuation.combined_test import Scores
from fedbary.valuation.groups import Groups
from fedbary.valuation.row_values import CleanRows, OwnRows, classified_rows, measured_rows, own_mix, shifted, suspects
from fedbary.valuation.rules import RowRules
from fedbary.valuation.scored_rows import ScoredRows
from fedbary.valuation.scoring.line import Line

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# So many rows at least stand for what the model expects.
_EXPECTED = 2000
# A row is set against so many rows of all classes, besides those of its own.
_PSEUDO_ROWS = 10.0
# Of the rows of a class three in four may be odd.
_LOW = 0.25
# Where the middle and the width of usual scores are read off.
_QUANTILES = np.array([0.1, 0.35])
# Scores have longer tails above than below, how long differs from table to table. So every client says at how many
# widths its highest tenth begins, in these steps, and the median is what is usual; this, where clients are not asked.
_TAIL, _TAIL_BAND, _TAIL_STEP, USUAL_TAIL = 0.9, 0.02, 0.25, 2.5
_GOLDEN = 0.6180339887498949
_OF_A_TEST = ("p_value", "flag", "label_p", "feature_p")


@dataclass(frozen=True, eq=False)
class SeenRows:
    """What a received model says of a client's rows and their cells, looked at once.

    Where labels are numbers, ``label_scores`` and ``suggestions`` are how far each is from the line, and what it should
    be.
    """

    judged: Judged
    cells: CellCounts
    label_scores: Floats | None = None
    suggestions: Floats | None = None


def seen_rows(
    table: Table, schema: Schema, arrays: Mapping[str, np.ndarray], *, ranked: bool = True
) -> SeenRows | None:
    """Go through the rows once; None where the arrays hold no model.

    Without ``ranked`` it is enough for what a client says of the model: its temperature, and its tail.
    """
    numeric = schema.label.kind == "number"
    judge = Judge.of(schema, arrays, rows=len(table), projected=True, ranked=ranked and not numeric)
    line = Line.from_arrays(arrays, schema.value_width) if numeric else None
    if judge is None or (numeric and line is None):
        return None
    counter = CellCounter(schema)
    scores, suggestions = [], []
    parts = encoded_parts(table, schema)
    for part in parts if len(table) <= PART else ahead(parts):
        judge.add(part)
        counter.add(part.table, part.missing)
        if line is not None:
            values = place(part.encoded, schema)
            scores.append(line.scores(values, np.asarray(part.table.labels, dtype=float)))
            suggestions.append(line.predicted(values))
    judged, cells = judge.judged(table), counter.counted()
    if line is None:
        return SeenRows(judged, cells)
    # What is imputed says nothing of a label.
    told = 1.0 - cells.missing / cells_of_a_row(schema)
    return SeenRows(judged, cells, np.concatenate(scores) * told, np.concatenate(suggestions))


def score_rows(
    seen: SeenRows | None,
    arrays: Mapping[str, np.ndarray],
    *,
    rules: RowRules,
    tail: float = USUAL_TAIL,
    groups: Groups | None = None,
) -> ScoredRows:
    """Row values from what a model says of rows; with ``groups`` the facts may leave, the rest is rough.

    ``tail`` says, without clean rows, at how many widths above the middle the highest tenth of feature scores begins.
    """
    if seen is None:
        raise ProtocolError("protocols.card-no-model")
    rows, model = seen.judged.rows, seen.judged.model
    if seen.label_scores is not None and seen.suggestions is not None:
        return _score_numbers(rows, seen.label_scores, seen.suggestions, arrays, rules=rules, tail=tail, groups=groups)
    if groups is not None:
        rows = without_rare_classes(rows, groups)
    classes = model.classes
    if "clean.codes" in arrays:
        clean = clean_rows("clean", arrays, len(classes))
        return classified_rows(rows, classes, clean, rules=rules, groups=groups)
    shift, _ = own_mix(rows.log_probabilities, rows.codes, _prior_codes(model.log_prior), len(classes), groups)
    log_p = shifted(rows.log_probabilities, shift)
    feature = _against_same_class(rows.feature_scores, rows.codes)
    rows = replace(rows, log_probabilities=log_p, feature_scores=feature)
    found = classified_rows(
        rows, classes, _expected_rows(log_p, feature, tail), rules=rules, adapt=False, groups=groups
    )
    return _untested(found)


def own_tail(seen: SeenRows | None, *, least: int) -> float:
    """At how many widths above the middle a client's highest tenth of feature scores begins.

    A mean of ``least`` rows and more, in coarse steps: the model is the server's choice.
    """
    if seen is None:
        return USUAL_TAIL
    rows = seen.judged.rows
    feature = np.sort(_against_same_class(rows.feature_scores, rows.codes))
    middle, width = _usual(feature)
    about = _TAIL * (len(feature) - 1)
    reach = max(_TAIL_BAND * len(feature), (least + 1) / 2.0)
    band = feature[max(0, int(about - reach)) : int(about + reach) + 1]
    steps = round((float(band.mean()) - middle) / width / _TAIL_STEP)
    return float(np.clip(steps * _TAIL_STEP, 1.0, 20.0))


def _score_numbers(
    rows: OwnRows,
    label: Floats,
    suggestions: Floats,
    arrays: Mapping[str, np.ndarray],
    *,
    rules: RowRules,
    tail: float,
    groups: Groups | None,
) -> ScoredRows:
    if "clean.label" in arrays:
        clean = Scores(arrays["clean.label"], arrays["clean.feature"], np.ones(len(arrays["clean.label"])))
        own = Scores(label, rows.feature_scores, np.ones(len(label)))
        return measured_rows(rows.names, own, clean, suggestions=suggestions, rules=rules, groups=groups)
    feature = _against_same_class(rows.feature_scores, np.zeros(len(label), dtype=np.int64))
    # Half-normal, as wide as most of the client's own labels lie around the line.
    places = _places(max(_EXPECTED, len(label)))
    usual = max(float(np.median(label)), 1e-12) / ndtri(0.75)
    clean = Scores(usual * ndtri(0.5 + places / 2.0), _usual_features(feature, len(places), tail), np.ones(len(places)))
    own = Scores(label, feature, np.ones(len(label)))
    return _untested(measured_rows(rows.names, own, clean, suggestions=suggestions, rules=rules, groups=groups))


def _prior_codes(log_prior: Floats) -> Integers:
    """Classes of rows that have the model's class shares."""
    counts = np.maximum(np.round(_EXPECTED * np.exp(log_softmax(log_prior))), 1).astype(np.int64)
    return np.repeat(np.arange(len(counts)), counts)


def _against_same_class(scores: Floats, codes: Integers) -> Floats:
    """Logarithms of feature scores, about a low quantile of those with the same label: classes differ in spread.

    Not of those that look alike, since rows of noise may all look like one class.
    """
    logs = np.log(np.maximum(scores, 1e-12))
    usual = float(np.quantile(logs, _LOW))
    centred = logs - usual
    for code in np.unique(codes):
        mine = codes == code
        count = float(mine.sum())
        own = (count * np.quantile(logs[mine], _LOW) + _PSEUDO_ROWS * usual) / (count + _PSEUDO_ROWS)
        centred[mine] = logs[mine] - own
    return np.asarray(centred)


def _expected_rows(log_probabilities: Spool, feature: Floats, tail: float) -> CleanRows:
    """Rows as the model expects them: the client's, with labels drawn from p(c|x), and usual features."""
    expected, codes = Spool(log_probabilities.width), list[Integers]()
    times = -(-_EXPECTED // max(len(log_probabilities), 1))  # more than once where there is one part
    for part in log_probabilities.parts():
        logs = np.tile(part, (times, 1))
        reached = np.cumsum(np.exp(logs), axis=1)
        # A sequence that fills [0, 1) evenly stands for random draws, so that the same rows give the same values.
        draws = (np.arange(len(expected), len(expected) + len(logs)) * _GOLDEN) % 1.0
        codes.append(np.minimum((reached < draws[:, None]).sum(axis=1), logs.shape[1] - 1))
        expected.append(logs)
    return CleanRows(expected, np.concatenate(codes), _usual_features(feature, len(expected), tail))


def _usual_features(feature: Floats, count: int, tail: float) -> Floats:
    """Scores of rows none of which is odd: about the client's own middle, and above it as wide as others' are."""
    middle, width = _usual(feature)
    drawn = ndtri((_places(count) * _GOLDEN * count) % 1.0 * (1.0 - 1.0 / count) + 0.5 / count)
    return middle + width * np.where(drawn > 0.0, drawn * tail / ndtri(_TAIL), drawn)


def _usual(feature: Floats) -> tuple[float, float]:
    """Middle and width of scores as two low quantiles tell them, in which rows that are odd hardly have a say.

    With a third of the rows odd both are larger by a third of a width or less.
    """
    low, high = np.quantile(feature, _QUANTILES)
    below, above = ndtri(_QUANTILES)
    width = max(float(high - low) / (above - below), 1e-9)
    return float(high) - above * width, width


def _places(count: int) -> Floats:
    return (np.arange(count) + 0.5) / count


def _untested(found: ScoredRows) -> ScoredRows:
    """The same without p-values and flags: as many of the worst rows as are estimated to be bad are suspects."""
    assert found.facts.bad_rows is not None
    suspect = suspects(found.columns["value"], np.zeros(len(found), dtype=bool), found.facts.bad_rows)
    told = {name: values for name, values in found.columns.items() if name not in _OF_A_TEST}
    facts = replace(
        found.facts, guarantee=Note("valuation.flags-no-clean-rows"), smallest_q=None, suspects=int(suspect.sum())
    )
    return ScoredRows({**told, "suspect": suspect}, facts)
