"""How surprising labels are, and how likely every share of wrong ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.competition import judged_labels
from fedbary.judging.evidence import SHARES, share_likelihood


def probabilities(seed, classes, rows=1, sure=2.0):
    logits = sure * np.random.default_rng(seed).normal(size=(rows, classes))
    p = np.exp(logits)
    return p / p.sum(axis=1, keepdims=True)


@given(st.integers(0, 100_000), st.integers(2, 8), st.floats(0.0, 1.0), st.booleans())
def test_a_right_label_surprises_as_often_as_it_should(seed, classes, level, ties):
    """P(v ≤ t) ≤ t for a label drawn from p, which all labels and their chances together tell exactly."""
    p = probabilities(seed, classes)
    if ties:
        p = np.round(p, 1) + 0.1
        p /= p.sum()
    v = np.exp(-judged_labels(np.repeat(p, classes, axis=0), np.arange(classes)).surprise)
    for t in (level, *v):
        assert p[0][v <= t].sum() <= t + 1e-8
    assert v.max() == pytest.approx(1.0)  # the likeliest label surprises nobody


@given(st.integers(0, 100_000), st.integers(2, 6))
def test_probabilities_of_right_and_wrong_labels_add_up(seed, classes):
    p = probabilities(seed, classes)
    found = judged_labels(np.repeat(p, classes, axis=0), np.arange(classes))
    assert found.right.sum() == pytest.approx(1.0)
    assert found.wrong.sum() == pytest.approx(1.0)
    assert found.wrong.min() >= 0.5 / classes - 1e-12
    assert found.seen == pytest.approx(1.0 - float(found.right @ found.wrong))
    assert (found.other != np.arange(classes)).all()


def test_a_label_confused_with_the_next_class_is_a_likelier_wrong_one():
    p = np.array([[0.9, 0.09, 0.01]] * 3)
    found = judged_labels(p, np.arange(3))
    np.testing.assert_allclose(found.wrong, [1 / 6, 1 / 6 + 0.45, 1 / 6 + 0.05])
    np.testing.assert_allclose(judged_labels(p[:, :2] / 0.99, np.array([0, 1, 1])).wrong, 0.5)
    assert found.other.tolist() == [1, 0, 0]


def test_of_an_unknown_class_nothing_is_said():
    found = judged_labels(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([-1, 1]))
    assert found.known.tolist() == [False, True]
    assert np.isnan([found.right[0], found.wrong[0], found.surprise[0]]).all()
    assert found.other.tolist() == [0, 0]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_likeliest_share_is_the_planted_one(share, classes):
    rng = np.random.default_rng(0)
    p = probabilities(1, classes, rows=20_000, sure=4.0)
    codes = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=classes - 1)
    others = np.where(p == p.max(axis=1, keepdims=True), 0.0, p)
    u = np.full_like(p, 0.5) if classes == 2 else 0.5 / classes + 0.5 * others / others.sum(axis=1, keepdims=True)
    drawn = (rng.random((len(p), 1)) > np.cumsum(u, axis=1)).sum(axis=1).clip(max=classes - 1)
    found = judged_labels(p, np.where(rng.random(len(p)) < share, drawn, codes))
    assert SHARES[share_likelihood(found.right, found.wrong).argmax()] == pytest.approx(share, abs=0.03)


@given(st.integers(0, 1000), st.integers(1, 50))
def test_likelihoods_are_sums_over_rows_less_the_highest(seed, rows):
    right, wrong = np.random.default_rng(seed).uniform(0.01, 1.0, (2, rows))
    found = share_likelihood(right, wrong)
    brute = np.array([np.log((1.0 - share) * right + share * wrong).sum() for share in SHARES])
    np.testing.assert_allclose(found, brute - brute.max(), atol=1e-9)
    assert found.max() == 0.0


def test_many_rows_in_blocks_are_the_same_sum(monkeypatch):
    right, wrong = np.random.default_rng(0).uniform(0.01, 1.0, (2, 100))
    whole = share_likelihood(right, wrong)
    monkeypatch.setattr("fedbary.judging.evidence._BLOCK", 7)
    np.testing.assert_allclose(share_likelihood(right, wrong), whole, atol=1e-9)
