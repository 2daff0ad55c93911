"""Worth in whole runs: with a reference and without, with classes and with numbers."""

from __future__ import annotations

import numpy as np
import pytest

import fedbary as fb


@pytest.fixture(scope="module")
def digits():
    return fb.datasets.load("digits")


@pytest.fixture(scope="module")
def clients(digits):
    parts = fb.partitions.by_size(digits.train, [300, 300, 100, 30], seed=0).clients
    spoilt = fb.corruptions.flip_labels(parts["client_2"], 1.0, seed=0)[0]
    return {**parts, "client_2": spoilt}


def test_with_a_reference_worth_is_the_accuracy_that_a_client_adds(clients, digits):
    result = fb.value(clients, digits.test, protocol=fb.Cards(worth=True), seed=0)
    worth = result.clients.set_index("client")["worth"]
    assert worth.idxmax() == "client_1"
    assert worth.idxmin() == "client_2"
    assert worth["client_3"] > worth["client_4"]
    assert (result.clients["worth_error"] == 0.0).all()
    assert result.scores.evaluations == 16
    assert result.clients["share"].sum() == pytest.approx(1.0)
    assert result.clients.set_index("client")["share"].idxmax() == "client_1"
    assert "worth" in str(result)


def test_without_one_it_is_called_self_consistency(clients):
    result = fb.value(clients, protocol=fb.Cards(worth=True), seed=0)
    assert "protocols.worth-self-consistency" in [note.code for note in result.notes]
    assert result.clients.set_index("client")["worth"].idxmin() == "client_2"


def test_it_is_played_only_where_it_is_asked_for(clients, digits):
    result = fb.value(clients, digits.test, protocol=fb.Cards(), seed=0)
    assert result.clients["worth"].isna().all()
    assert result.scores is None


def test_numbers_as_labels():
    rng = np.random.default_rng(0)
    slope = rng.standard_normal(4)

    def table(rows, noise=0.3):
        features = rng.standard_normal((rows, 4))
        labels = features @ slope + noise * rng.standard_normal(rows)
        return fb.Table({f"x{i}": features[:, i] for i in range(4)}, labels)

    clients = {"a": table(100), "b": table(100), "noise": table(100, 5.0), "c": table(60)}
    result = fb.value(clients, table(200), protocol=fb.Cards(worth=True), seed=0)
    worth = result.clients.set_index("client")["worth"]
    assert worth.idxmin() == "noise"
    assert 0.6 < worth.sum() < 1.0


def test_a_saved_result_has_its_worth(clients, digits, tmp_path):
    result = fb.value(clients, digits.test, protocol=fb.Cards(worth=True), seed=0)
    result.save(tmp_path / "out")
    again = fb.Valuation.load(tmp_path / "out")
    assert again.clients["worth"].tolist() == result.clients["worth"].tolist()
    assert again.scores.values.tolist() == result.scores.values.tolist()
