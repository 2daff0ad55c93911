"""`fb.compare`: several methods on the same clients, one frame, files that load again."""

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.training import FedAvg, TrainingLog


@pytest.fixture(scope="module")
def federation(digits):
    part = fb.partitions.by_size(digits, [80, 80, 80, 300], seed=0).clients
    test = part.pop("client_4")
    part["client_3"], _ = fb.corruptions.flip_labels(part["client_3"], 0.8, seed=0)
    return part, test


@pytest.fixture(scope="module")
def compared(federation):
    return fb.compare(*federation, methods=["mr", "exactfed", "sketch", "cgsv"], training=FedAvg(rounds=4), seed=1)


def test_all_methods_see_the_client_of_wrong_labels(compared):
    for name, scores in compared.scores.items():
        assert scores.clients == ("client_1", "client_2", "client_3")
        assert scores.values.argmin() == 2, name
    frame = compared.to_frame()
    assert list(frame.columns) == ["method", "client", "value", "standard_error", "share"]
    assert len(frame) == 12
    np.testing.assert_allclose(frame.groupby("method")["share"].sum(), 1.0)


def test_the_summary_measures_by_exactfed(compared):
    summary = compared.summary().set_index("method")
    assert summary.loc["exactfed", "spearman"] == pytest.approx(1.0)
    assert summary.loc["exactfed", "share_error"] == 0.0
    assert summary.loc["mr", "evaluations"] == 4 * 8
    assert summary["converged"].all()
    assert compared.summary(truth="mr").set_index("method").loc["mr", "kendall"] == pytest.approx(1.0)
    with pytest.raises(fb.FedbaryError, match="not among the methods compared"):
        compared.summary(truth="gtg")


def test_shares_of_a_protocol_are_those_of_its_own_result(federation, compared):
    own = fb.value(*federation, protocol="sketch", seed=1).clients["share"].to_numpy(dtype=float)
    np.testing.assert_allclose(compared.scores["sketch"].shares, own)


def test_a_comparison_loads_to_the_same_and_its_log_can_be_used_again(federation, compared, tmp_path):
    compared.save(tmp_path / "out")
    again = fb.Comparison.load(tmp_path / "out")
    pd.testing.assert_frame_equal(again.to_frame(), compared.to_frame())
    pd.testing.assert_frame_equal(again.summary(), compared.summary())
    assert again.settings["training"]["rounds"] == 4
    log = TrainingLog.load(tmp_path / "out" / "training-log.npz")
    anew = fb.compare(*federation, methods=["mr"], log=log, seed=1)
    np.testing.assert_allclose(anew.scores["mr"].values, compared.scores["mr"].values)
    assert pd.read_csv(tmp_path / "out" / "scores.csv").shape == (12, 5)


def test_one_method_that_cannot_run_leaves_the_others_alone(digits):
    part = fb.partitions.by_size(digits, [20] * 15 + [200], seed=0).clients
    test = part.pop("client_16")
    found = fb.compare(part, test, methods=["exactfed", "cgsv"], training=FedAvg(rounds=1))
    assert "14 are the most" in found.failed["exactfed"]
    assert list(found.scores) == ["cgsv"]


def test_mistakes_are_one_sentence(federation, tmp_path):
    with pytest.raises(fb.FedbaryError, match="There is no method 'magic'"):
        fb.compare(*federation, methods=["magic"])
    with pytest.raises(fb.FedbaryError, match="No method"):
        fb.compare(*federation, methods=[])
    with pytest.raises(fb.FedbaryError, match="no comparison"):
        fb.Comparison.load(tmp_path)
    (tmp_path / "comparison.json").write_text('{"version": 1, "methods": ["../../x"]}')
    with pytest.raises(fb.FedbaryError, match="outside its own folder"):
        fb.Comparison.load(tmp_path)


def test_scores_survive_a_file(tmp_path):
    scores = fb.ClientScores(
        "x", ("a", "<b>"), np.array([np.nan, -1.0]), np.array([0.0, np.nan]), 3, 1.5, False, ("n",)
    )
    again = fb.ClientScores.load(scores.save(tmp_path / "x.json"))
    np.testing.assert_array_equal(again.values, scores.values)
    np.testing.assert_array_equal(again.standard_errors, scores.standard_errors)
    assert (again.clients, again.converged, again.notes) == (("a", "<b>"), False, ("n",))
    assert np.isnan(again.shares).all()
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(fb.FedbaryError, match="compute them again"):
        fb.ClientScores.load(tmp_path / "x.json")
