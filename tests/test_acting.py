"""Acting on a result: which rows to leave out, and a classifier that does it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fedbary as fb
from codes import coded, parameter


@pytest.fixture(scope="module")
def spoilt(digits):
    part = fb.partitions.by_size(digits, [150, 250, 200, 700, 400], seed=0).clients
    *own, reference, test = part.values()
    clients = dict(zip("abc", own, strict=True))
    clients["c"], wrong = fb.corruptions.flip_labels(clients["c"], 0.4, seed=0)
    return clients, reference, test, wrong


@pytest.fixture(scope="module")
def result(spoilt):
    return fb.value(spoilt[0], spoilt[1], calibration="crossfit", seed=0)


def test_failed_clients_are_neither_selected_nor_weighed(spoilt):
    clients, reference, *_ = spoilt
    mixed = fb.value({**clients, "tiny": clients["a"].take(np.arange(2))}, reference, seed=0)
    assert "tiny" not in mixed.select(k=4)
    assert mixed.weights()["tiny"] == 0


def test_cleaning_drops_or_mends(spoilt, result):
    clients, *_, wrong = spoilt
    rows = result.rows("c")
    flag = rows["flag"].to_numpy(dtype=bool)
    assert len(fb.clean(clients["c"], rows)) == (~flag).sum()
    mended = fb.clean(clients["c"], rows, how="relabel")
    assert len(mended) > (~flag).sum()
    assert mended.labels.dtype == clients["c"].labels.dtype
    assert flag[wrong].mean() > 0.9
    with pytest.raises(fb.FedbaryError, check=coded("valuation.values-of-other-rows")):
        fb.clean(clients["a"], rows)
    with pytest.raises(fb.FedbaryError, check=parameter("how")):
        fb.clean(clients["c"], rows, how="burn")
    unflagged = fb.value(clients, seed=0).rows("c")
    with pytest.raises(fb.FedbaryError, check=coded("valuation.not-flagged")):
        fb.clean(clients["c"], unflagged)


def test_rows_flagged_without_a_reason_are_left_out():
    table = fb.Table.from_arrays([[1.0], [2.0]], ["a", "b"])
    rows = pd.DataFrame({"row": [0, 1], "flag": [True, False], "reason": [pd.NA, pd.NA], "suggested_label": ["b", "a"]})
    rows = rows.astype({"reason": "string", "flag": "boolean"})
    assert fb.clean(table, rows, how="relabel").labels.tolist() == ["b"]


@pytest.mark.parametrize("how", ["drop", "relabel"])
def test_a_filtered_classifier_beats_the_plain_one(spoilt, how):
    clients, reference, test, wrong = spoilt
    X, y = clients["c"].columns["x"], clients["c"].labels
    validation = (reference.columns["x"], reference.labels)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    plain = clone(model).fit(X, y).score(test.columns["x"], test.labels)
    filtered = fb.FlagFilter(model, how=how, row_values=fb.RowValues(calibration="crossfit")).fit(X, y, *validation)
    assert filtered.score(test.columns["x"], test.labels) > plain + 0.05
    assert filtered.predict_proba(test.columns["x"]).shape == (400, 10)
    assert filtered.kept_[~wrong].mean() > 0.9  # a tenth of the flagged rows may be clean
    assert clone(filtered).get_params()["how"] == how


def test_row_values_take_frames_and_say_what_is_wrong(spoilt):
    clients, reference, *_ = spoilt
    frame = pd.DataFrame(clients["a"].columns["x"], columns=[f"p{i}" for i in range(64)])
    other = pd.DataFrame(reference.columns["x"], columns=[f"p{i}" for i in range(64)])
    found = fb.RowValues(calibration="crossfit").fit(frame, clients["a"].labels, other, reference.labels)
    assert found.values_.shape == (150,)
    kept = fb.FlagFilter(LogisticRegression(max_iter=2000)).fit(frame, clients["a"].labels, other, reference.labels)
    assert kept.kept_.mean() > 0.9
    with pytest.raises(fb.FedbaryError, check=coded("schema.columns-missing")):
        fb.RowValues().fit(frame.drop(columns="p63"), clients["a"].labels, other, reference.labels)
