"""The clients of the experiments are what the tables say they are."""

import numpy as np
import pytest

import fedbary as fb
from fedbary_lab.experiments.federations import SplitDataset, split_dataset

KINDS = pytest.mark.parametrize("kind", ["labels", "pairs", "confusions", "features"])


@pytest.fixture(scope="module")
def data():
    return split_dataset("digits", 800, seed=3)


def test_reference_and_pool_share_no_row(data):
    assert (len(data.reference), len(data.pool)) == (800, 997)
    rows = np.vstack([data.reference.columns["x"], data.pool.columns["x"]])
    assert len(np.unique(rows, axis=0)) == 1797


def test_skew_leaves_few_classes_and_infinity_leaves_all(data):
    skewed, plain = (data.rows(100, alpha, seed=0) for alpha in (0.05, np.inf))
    counts = [np.bincount(data.pool.labels[rows], minlength=10).max() for rows in (skewed, plain)]
    assert counts[0] > 40 > counts[1]
    assert len(np.unique(skewed)) == 100


def test_peers_avoid_the_rows_that_are_taken(data):
    first = data.rows(300, 1.0, seed=0)
    assert not np.intersect1d(first, data.rows(300, 1.0, seed=0, without=first)).size


def test_clients_of_a_federation_share_no_row_and_do_not_depend_on_how_many_follow(data):
    five, three = (data.disjoint_rows([100] * count, 1.0, seed=0) for count in (5, 3))
    assert len(np.unique(np.concatenate(five))) == 500
    assert all(np.array_equal(one, two) for one, two in zip(three, five, strict=False))


def test_the_last_clients_of_two_classes_get_the_class_that_is_left():
    pool = fb.Table({"x": np.arange(100.0)}, np.repeat([0, 1], [20, 80]))
    rows = SplitDataset(pool, pool).disjoint_rows([40, 40, 20], 0.01, seed=0)
    assert sorted(np.concatenate(rows)) == list(range(100))


def test_a_label_is_confused_with_the_class_whose_mean_is_nearest():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], 50))
    # Apart by 1 and 3 in a column without spread of its own, by more in one that is all spread.
    columns = {
        "sharp": np.array([0.0, 1.0, 4.0])[labels] + 0.1 * rng.normal(size=150),
        "wide": 100 * rng.normal(size=150),
    }
    pool = fb.Table(columns, labels)
    client = SplitDataset(pool, pool).client(np.arange(150), "confusions", 1.0, seed=0)
    assert client.mask.all()
    assert np.array_equal(client.table.labels, np.array([1, 0, 1])[labels])


@KINDS
def test_exactly_the_marked_rows_were_spoilt(data, kind):
    rows = data.rows(200, np.inf, seed=1)
    client = data.client(rows, kind, 0.1, seed=1)
    clean = data.pool.take(rows)
    moved = (client.table.columns["x"] != clean.columns["x"]).any(axis=1)
    relabelled = client.table.labels != clean.labels
    assert client.mask.sum() == 20
    assert np.array_equal(relabelled if kind != "features" else moved, client.mask)
    assert not (moved if kind != "features" else relabelled).any()
    assert np.array_equal(client.truth, clean.labels)


def test_noise_is_measured_by_the_pool_however_skewed_the_client(data):
    spreads = []
    for alpha in (0.05, np.inf):
        rows = data.rows(300, alpha, seed=2)
        client = data.client(rows, "features", 0.5, sigma=1.0, seed=2)
        noise = (client.table.columns["x"] - data.pool.columns["x"][rows])[client.mask]
        spreads.append(noise.std())
    expected = np.sqrt(data.pool.columns["x"].var(axis=0).mean())
    assert spreads == pytest.approx([expected, expected], rel=0.03)
