"""Acting on a result: which rows to leave out, and a classifier that does it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
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
    return fb.value(spoilt[0], spoilt[1], seed=0)


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
    unflagged = fb.value(clients, protocol=fb.Interpolation(rounds=1), seed=0).rows("c")
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
    filtered = fb.FlagFilter(model, how=how).fit(X, y, *validation)
    assert filtered.score(test.columns["x"], test.labels) > plain + 0.05
    assert filtered.predict_proba(test.columns["x"]).shape == (400, 10)
    assert filtered.kept_[~wrong].mean() > 0.9  # a tenth of the flagged rows may be clean
    assert clone(filtered).get_params()["how"] == how


def test_row_values_take_frames_and_say_what_is_wrong(spoilt):
    clients, reference, *_ = spoilt
    frame = pd.DataFrame(clients["a"].columns["x"], columns=[f"p{i}" for i in range(64)])
    other = pd.DataFrame(reference.columns["x"], columns=[f"p{i}" for i in range(64)])
    found = fb.RowValues().fit(frame, clients["a"].labels, other, reference.labels)
    assert found.values_.shape == (150,)
    kept = fb.FlagFilter(LogisticRegression(max_iter=2000)).fit(frame, clients["a"].labels, other, reference.labels)
    assert kept.kept_.mean() > 0.9
    with pytest.raises(fb.FedbaryError, check=coded("schema.columns-missing")):
        fb.RowValues().fit(frame.drop(columns="p63"), clients["a"].labels, other, reference.labels)


@pytest.mark.parametrize("form", ["sparse", "polars", "pyarrow", "torch"])
def test_rows_in_any_form_have_the_values_of_the_array(spoilt, form):
    clients, reference, *_ = spoilt
    X, y, others = clients["c"].columns["x"], clients["c"].labels, reference.columns["x"]
    names = [f"p{place}" for place in range(64)]
    frames = form in ("polars", "pyarrow")
    held = {
        "sparse": scipy.sparse.csr_array,
        "polars": lambda rows: pytest.importorskip("polars").DataFrame(rows, schema=names),
        "pyarrow": lambda rows: pa.table(dict(zip(names, rows.T, strict=True))),
        "torch": lambda rows: pytest.importorskip("torch").tensor(rows),
    }[form]
    plain = (lambda rows: pd.DataFrame(rows, columns=names)) if frames else (lambda rows: rows)
    expected = fb.RowValues().fit(plain(X), y, plain(others), reference.labels)
    found = fb.RowValues().fit(held(X), y, held(others), reference.labels)
    np.testing.assert_array_equal(found.values_, expected.values_)


def test_a_classifier_of_texts_is_filtered_by_the_texts_themselves():
    rng = np.random.default_rng(0)
    words = {"sport": ["goal", "match", "team", "coach"], "money": ["bank", "share", "loan", "rate"]}
    labels = rng.choice(["sport", "money"], 400)
    texts = [" ".join(rng.choice([*words[label], "the", "a", "today"], 8)) for label in labels]
    given = labels[:200].copy()
    given[:30] = np.where(given[:30] == "sport", "money", "sport")
    model = fb.FlagFilter(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    model.fit(texts[:200], given, texts[200:], labels[200:])
    assert model.kept_[:30].mean() < 0.5 < 0.8 < model.kept_[30:].mean()
    assert model.score(texts[200:], labels[200:]) > 0.95


def test_a_filtered_classifier_takes_sparse_rows(spoilt):
    clients, reference, test, _ = spoilt
    held = scipy.sparse.csr_array(clients["c"].columns["x"])
    model = fb.FlagFilter(LogisticRegression(max_iter=2000))
    model.fit(held, clients["c"].labels, scipy.sparse.csr_array(reference.columns["x"]), reference.labels)
    assert model.score(test.columns["x"], test.labels) > 0.8
