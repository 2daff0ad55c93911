"""The clients of the experiments are what the tables say they are."""

import numpy as np
import pytest

from fedbary.research.experiments.federations import world

KINDS = pytest.mark.parametrize("kind", ["labels", "features"])


@pytest.fixture(scope="module")
def place():
    return world("digits", 800, seed=3)


def test_reference_and_pool_share_no_row(place):
    assert (len(place.reference), len(place.pool)) == (800, 997)
    rows = np.vstack([place.reference.columns["x"], place.pool.columns["x"]])
    assert len(np.unique(rows, axis=0)) == 1797


def test_skew_leaves_few_classes_and_infinity_leaves_all(place):
    skewed, plain = (place.rows(100, alpha, seed=0) for alpha in (0.05, np.inf))
    counts = [np.bincount(place.pool.labels[rows], minlength=10).max() for rows in (skewed, plain)]
    assert counts[0] > 40 > counts[1]
    assert len(np.unique(skewed)) == 100


def test_peers_avoid_the_rows_that_are_taken(place):
    first = place.rows(300, 1.0, seed=0)
    assert not np.intersect1d(first, place.rows(300, 1.0, seed=0, without=first)).size


@KINDS
def test_exactly_the_marked_rows_were_spoilt(place, kind):
    rows = place.rows(200, np.inf, seed=1)
    client = place.client(rows, kind, 0.1, seed=1)
    clean = place.pool.take(rows)
    moved = (client.table.columns["x"] != clean.columns["x"]).any(axis=1)
    relabelled = client.table.labels != clean.labels
    assert client.mask.sum() == 20
    assert np.array_equal(relabelled if kind == "labels" else moved, client.mask)
    assert not (moved if kind == "labels" else relabelled).any()
    assert np.array_equal(client.truth, clean.labels)


def test_noise_is_measured_by_the_pool_however_skewed_the_client(place):
    spreads = []
    for alpha in (0.05, np.inf):
        rows = place.rows(300, alpha, seed=2)
        client = place.client(rows, "features", 0.5, sigma=1.0, seed=2)
        noise = (client.table.columns["x"] - place.pool.columns["x"][rows])[client.mask]
        spreads.append(noise.std())
    expected = np.sqrt(place.pool.columns["x"].var(axis=0).mean())
    assert spreads == pytest.approx([expected, expected], rel=0.03)
