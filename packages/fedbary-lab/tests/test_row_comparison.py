"""`fb.compare_rows`: several methods on the same rows, and both pictures."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import DataError, SettingsError
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison.measures import auroc


@pytest.fixture(scope="module")
def federation(digits):
    part = fb.partitions.by_size(digits, [80, 80, 300], seed=0).clients
    test = part.pop("client_3")
    masks = {}
    for name in part:
        part[name], masks[name] = fb.corruptions.flip_labels(part[name], 0.2, seed=0)
    return part, test, masks


@pytest.fixture(scope="module")
def compared(federation):
    clients, test, masks = federation
    return fb.compare_rows(clients, test, methods=["sketch", "logistic"], truth="knn-shapley", wrong=masks)


def test_one_frame_with_every_row_by_every_method(compared, federation):
    frame = compared.to_frame()
    assert list(frame.columns) == ["method", "client", "row", "value", "wrong"]
    assert len(frame) == 3 * 160
    own = fb.value(federation[0], federation[1], protocol="sketch", seed=0).rows("client_1")["value"]
    ours = frame[(frame["method"] == "sketch") & (frame["client"] == "client_1")]["value"]
    np.testing.assert_array_equal(ours, own)


def test_the_summary_says_who_finds_wrong_rows_and_who_agrees(compared):
    summary = compared.summary().set_index("method")
    assert (summary["auroc"] > 0.9).all()
    assert summary.loc["knn-shapley", "spearman"] == pytest.approx(1.0)
    assert (summary["clients"] == 2).all()
    assert compared.summary("sketch").set_index("method").loc["sketch", "kendall"] == pytest.approx(1.0)
    with pytest.raises(SettingsError, check=coded("research.truth-not-compared")):
        compared.summary("tmc")


def test_auroc_counts_pairs_and_halves_ties():
    assert auroc(np.array([0.0, 1.0, 1.0, 2.0]), np.array([True, True, False, False])) == 3.5 / 4
    assert np.isnan(auroc(np.array([0.0, 1.0]), np.array([True, True])))


def test_files_open_in_a_spreadsheet(compared, tmp_path):
    home = compared.save(tmp_path / "out")
    assert len(pd.read_csv(home / "rows.csv")) == 480
    assert list(pd.read_csv(home / "summary.csv")["method"]) == ["sketch", "logistic", "knn-shapley"]


def test_a_client_that_cannot_be_used_does_not_stop_the_others(federation):
    clients, test, _ = federation
    broken = fb.Table.from_arrays(np.full((20, 3), 1.0), np.zeros(20))
    found = fb.compare_rows({**clients, "broken": broken}, test, methods=["sketch", "knn-shapley"])
    assert set(found.values["knn-shapley"]) == set(clients)
    assert set(found.failed) == {"sketch", "knn-shapley"}
    assert found.failed["knn-shapley"]["broken"].facts["column"] == "x"


def test_pictures_show_what_the_frames_hold(compared, federation):
    bars = compared.plot()
    assert set(compared.display().frame()["method"]) == {"sketch", "logistic", "knn-shapley"}
    assert len(bars.data[0].y) == 3
    clients, test, _ = federation
    matrix = fb.compare_rows(clients, test, methods=["logistic", "knn-shapley"]).plot().data[0]
    assert matrix.z[0][0] == pytest.approx(1.0)
    scores = ClientScores("mr", ("<b>a</b>", "b"), np.array([0.3, 0.1]), np.zeros(2))
    figure = fb.Comparison({"sketch": scores, "mr": scores}).plot(truth="mr")
    assert figure.data[0].name == "mr (truth)"
    assert figure.data[0].customdata[0][0].strip("\u2068\u2069") == "&lt;b&gt;a&lt;/b&gt;"
    assert list(figure.data[1].y) == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(
    ("given", "check"),
    [
        ({"methods": ["gtg"]}, coded("research.no-such-method")),
        ({"methods": []}, coded("research.no-method-given")),
        ({"methods": "lava"}, parameter("methods")),
        ({"wrong": {"nobody": [True]}}, coded("research.mask-of-no-client")),
        ({"wrong": {"client_1": [True]}}, coded("research.mask-shape")),
        ({"truth": "magic"}, coded("research.no-such-method")),
    ],
)
def test_questions_that_make_no_sense_are_refused(federation, given, check):
    with pytest.raises(SettingsError, check=check):
        fb.compare_rows(federation[0], federation[1], **given)


def test_the_truth_is_computed_even_if_it_was_not_named(federation):
    clients, test, _ = federation
    found = fb.compare_clients(clients, test, methods=["worth"], truth="sketch")
    assert list(found.summary()["method"]) == ["worth", "sketch"]
    assert found.summary().set_index("method").loc["sketch", "spearman"] == pytest.approx(1.0)


def test_a_folder_with_other_files_is_left_alone(compared, tmp_path):
    (tmp_path / "summary.csv").write_text("mine")
    with pytest.raises(DataError, check=coded("research.foreign-file")):
        compared.save(tmp_path)
    assert (tmp_path / "summary.csv").read_text() == "mine"
    compared.save(tmp_path / "own")
    compared.save(tmp_path / "own")


def test_a_method_of_another_package_that_fails_stops_nobody(federation):
    clients, test, _ = federation
    tiny = clients["client_1"].take(np.arange(4))
    found = fb.compare_rows({"tiny": tiny, **clients}, test, methods=["knn-shapley", "data-oob"])
    assert found.failed["data-oob"]["tiny"].code == "research.too-few-for-bags"
    assert set(found.values["data-oob"]) == set(clients)
