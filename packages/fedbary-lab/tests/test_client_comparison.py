"""`fb.compare_clients`: several methods on the same clients, one frame, files that load again."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from codes import coded, parameter
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.training_log import TrainingLog


@pytest.fixture(scope="module")
def federation(digits):
    part = fb.partitions.by_size(digits, [80, 80, 80, 300], seed=0).clients
    test = part.pop("client_4")
    part["client_3"], _ = fb.corruptions.flip_labels(part["client_3"], 0.8, seed=0)
    return part, test


@pytest.fixture(scope="module")
def compared(federation):
    return fb.compare_clients(
        *federation, methods=["mr", "exactfed", "sketch", "cgsv"], training=FedAvg(rounds=4), seed=1
    )


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
    with pytest.raises(fb.FedbaryError, check=coded("research.truth-not-compared")):
        compared.summary(truth="gtg")


def test_shares_of_a_protocol_are_the_paper_s_by_its_own_distances(federation, compared):
    own = fb.value(*federation, protocol="sketch", seed=1).clients.set_index("client").loc[list(federation[0])]
    near = 1.0 / own["distance"].to_numpy(dtype=float)
    np.testing.assert_allclose(compared.scores["sketch"].shares, near / near.sum())


def test_a_comparison_loads_to_the_same_and_its_log_can_be_used_again(federation, compared, tmp_path):
    compared.save(tmp_path / "out")
    again = fb.Comparison.load(tmp_path / "out")
    pd.testing.assert_frame_equal(again.to_frame(), compared.to_frame())
    pd.testing.assert_frame_equal(again.summary(), compared.summary())
    assert again.settings["training"]["rounds"] == 4
    log = TrainingLog.load(tmp_path / "out" / "training-log.npz")
    anew = fb.compare_clients(*federation, methods=["mr"], log=log, seed=1)
    np.testing.assert_allclose(anew.scores["mr"].values, compared.scores["mr"].values)
    assert pd.read_csv(tmp_path / "out" / "scores.csv").shape == (12, 5)


def test_an_option_stands_behind_the_name_of_a_method(federation, tmp_path):
    found = fb.compare_clients(*federation, methods=["mr", "mr@decay=0.5"], training=FedAvg(rounds=2), seed=1)
    assert list(found.scores) == ["mr", "mr@decay=0.5"]
    assert not np.allclose(found.scores["mr"].values, found.scores["mr@decay=0.5"].values)
    found.save(tmp_path)
    assert list(fb.Comparison.load(tmp_path).scores) == list(found.scores)
    for wrong, code in (("mr@decoy=1", "no-such-option"), ("sketch@points=3", "no-options")):
        with pytest.raises(fb.FedbaryError, check=coded(f"research.{code}")):
            fb.compare_clients(*federation, methods=[wrong])


def test_one_method_that_cannot_run_leaves_the_others_alone(digits):
    part = fb.partitions.by_size(digits, [20] * 15 + [200], seed=0).clients
    test = part.pop("client_16")
    found = fb.compare_clients(part, test, methods=["exactfed", "cgsv"], training=FedAvg(rounds=1))
    assert found.failed["exactfed"].code == "research.too-many-clients-to-train"
    assert list(found.scores) == ["cgsv"]


def test_mistakes_are_one_sentence(federation, tmp_path):
    with pytest.raises(fb.FedbaryError, check=coded("research.no-such-method")):
        fb.compare_clients(*federation, methods=["magic"])
    with pytest.raises(fb.FedbaryError, check=coded("research.no-method-given")):
        fb.compare_clients(*federation, methods=[])
    with pytest.raises(fb.FedbaryError, check=coded("research.no-saved-result")):
        fb.Comparison.load(tmp_path)
    good = '{"fedbary": "comparison", "version": 2, "failed": {}, "settings": {}, "notes": [], "methods": %s}'
    for text in (good % '["../../x"]', "{}", good.replace("[]", "null") % "[]", "[" * 100_000):
        (tmp_path / "comparison.json").write_text(text)
        with pytest.raises(fb.FedbaryError, check=coded("research.result-damaged")):
            fb.Comparison.load(tmp_path)
    with pytest.raises(fb.FedbaryError, check=parameter("methods")):
        fb.compare_clients(*federation, methods="mr")
    with pytest.raises(fb.FedbaryError, check=coded("settings.same-name")):
        fb.compare_clients({1: federation[0]["client_1"], "1": federation[0]["client_2"]}, federation[1])


def test_a_folder_with_foreign_files_is_left_alone_and_an_earlier_comparison_replaced(compared, federation, tmp_path):
    compared.save(tmp_path / "out")
    fb.compare_clients(*federation, methods=["sketch"], seed=1).save(tmp_path / "out")
    again = fb.Comparison.load(tmp_path / "out")
    assert list(again.scores) == ["sketch"]
    assert again.log is None
    (tmp_path / "out" / "scores" / "mine.json").write_text("precious")
    with pytest.raises(fb.FedbaryError, check=coded("research.foreign-file")):
        compared.save(tmp_path / "out")
    assert (tmp_path / "out" / "scores" / "mine.json").read_text() == "precious"


def test_a_client_that_cannot_train_leaves_the_others_alone(federation):
    clients, test = federation
    strange = fb.Table.from_arrays(clients["client_1"].columns["x"], ["alien"] * 80)
    clients = {
        **clients,
        "narrow": fb.Table.from_arrays(clients["client_1"].columns["x"][:, 1:], clients["client_1"].labels),
        "alien": strange,
        "empty": (np.zeros((0, 64)), []),
    }
    found = fb.compare_clients(clients, test, methods=["mr", "sketch"], training=FedAvg(rounds=2))
    frame = found.to_frame().pivot_table(index="client", columns="method", values="value", dropna=False)
    assert frame.loc[["client_1", "client_2", "client_3"]].notna().all(axis=None)
    assert frame.loc[["narrow", "alien", "empty"]].isna().all(axis=None)
    absent = [note.facts["client"] for note in found.notes if note.code == "research.takes-no-part"]
    assert absent == ["narrow", "alien", "empty"]
    found.summary(truth="mr")


def test_what_cannot_be_trained_on_can_still_be_measured(digits):
    data = fb.datasets.load("diabetes")
    part = fb.partitions.by_size(data.train, [60, 60], seed=0).clients
    found = fb.compare_clients(part, data.test, methods=["mr", "sketch"])
    assert found.failed["mr"].facts["why"].code == "research.training-needs-classes"
    assert list(found.scores) == ["sketch"]


def test_a_client_equal_to_the_reference_has_a_finite_value(federation):
    test = federation[1]
    scores = fb.compare_clients({"same": test}, test, methods=["triangle"]).scores["triangle"]
    assert np.isfinite(scores.values).all()
    assert np.isnan(scores.standard_errors).all()


def test_a_log_with_another_start_serves_the_methods_that_do_not_retrain(federation, compared):
    moved = replace(compared.log, initial=compared.log.initial + 1.0)
    found = fb.compare_clients(*federation, methods=["mr", "loo"], log=moved, training=FedAvg(rounds=4), seed=1)
    assert list(found.scores) == ["mr"]
    why = found.failed["loo"]
    assert (why.code, why.facts["argument"]) == ("research.method-lacks-argument", "retrain")


def test_scores_survive_a_file(tmp_path):
    notes = (fb.Note("research.in-round", {"round": 2, "why": fb.Note("games.no-estimate")}),)
    scores = fb.ClientScores("x", ("a", "<b>"), np.array([np.nan, -1.0]), np.array([0.0, np.nan]), 3, 1.5, False, notes)
    again = fb.ClientScores.load(scores.save(tmp_path / "x.json"))
    np.testing.assert_array_equal(again.values, scores.values)
    np.testing.assert_array_equal(again.standard_errors, scores.standard_errors)
    assert (again.clients, again.converged, again.notes) == (("a", "<b>"), False, notes)
    assert np.isnan(again.shares).all()
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(fb.FedbaryError, check=coded("valuation.scores-damaged")):
        fb.ClientScores.load(tmp_path / "x.json")
