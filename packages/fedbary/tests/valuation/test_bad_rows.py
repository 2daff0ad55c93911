"""Shares of bad rows, where the truth is known."""

import numpy as np
import pytest
from fedbary.valuation.bad_rows import among_all, bad_rows, label_noise, odd_share, wrong_labels
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.estimates import Estimate
from fedbary.judging.groups import Groups


def labelled(true, *, rows=4000, seed=0):
    """p(y|x) of labels of which a share was replaced at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, rows)
    logits = rng.normal(size=(rows, 4)) + 4.0 * np.eye(4)[truth]
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (rng.random((rows, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=3)
    wrong = rng.random(rows) < true
    labels[wrong] = (labels[wrong] + rng.integers(1, 4, wrong.sum())) % 4
    return p[np.arange(rows), labels], wrong


@pytest.mark.parametrize("true", [0.0, 0.05, 0.2, 0.5])
def test_the_share_of_replaced_labels_is_found(true):
    right, _ = labelled(true)
    assert label_noise(right, 4).share == pytest.approx(true, abs=0.03)
    assert wrong_labels(right, 4, clean_rows=1000).share == pytest.approx(true, abs=0.03)


@pytest.mark.parametrize("true", [0.0, 0.1, 0.3])
def test_the_interval_mostly_holds_the_share_of_these_very_labels(true):
    held = []
    for seed in range(60):
        right, wrong = labelled(true, rows=200, seed=seed)
        found = wrong_labels(right, 4, clean_rows=1000)
        held.append(found.low <= wrong.mean() <= found.high)
    assert np.mean(held) >= 0.85


def test_the_rows_to_blame_are_the_wrong_ones():
    right, wrong = labelled(0.2)
    blamed = label_noise(right, 4).blamed
    assert blamed[wrong].mean() > 10 * blamed[~wrong].mean()


def test_chance_alone_is_not_odd():
    rng = np.random.default_rng(0)
    shares = [odd_share(rng.random(300), clean_rows=300).share for _ in range(200)]
    assert np.mean(np.array(shares) > 0) < 0.15
    assert np.quantile(shares, 0.99) < 0.06


@given(st.integers(50, 400), st.floats(0.05, 0.9))
def test_odd_rows_are_counted(rows, share):
    odd = round(share * rows)
    p = np.concatenate([np.full(odd, 1e-3), (np.arange(rows - odd) + 1) / (rows - odd)])
    found = odd_share(p, clean_rows=2000)
    assert found.low <= odd / rows <= found.high + 1e-9
    assert found.share == pytest.approx(odd / rows, abs=0.02)


def test_no_row_counts_twice_and_no_share_exceeds_all_rows():
    wrong = among_all(Estimate(0.5, 0.4, 0.6), 0.5)
    assert wrong == Estimate(0.25, 0.2, 0.3)
    assert bad_rows(Estimate(0.5, 0.4, 0.9), wrong) == Estimate(0.75, pytest.approx(0.6), 1.0)


def test_no_rows_and_one_class_say_nothing():
    assert label_noise(np.zeros(0), 3).share == 0.0
    assert wrong_labels(np.zeros(0), 3, clean_rows=0).share == 0.0
    assert label_noise(np.ones(5), 1).share == 0.0


EACH = Groups(np.arange(200), 5)


def test_in_groups_one_row_decides_nothing_where_the_model_says_nothing_of_the_others():
    nobody = np.full(200, 0.5)
    one = np.where(np.arange(200) == 7, 0.0, nobody)
    moved = wrong_labels(one, 2, clean_rows=300).share - wrong_labels(nobody, 2, clean_rows=300).share
    assert moved > 0.5
    assert wrong_labels(one, 2, clean_rows=300, groups=EACH) == wrong_labels(nobody, 2, clean_rows=300, groups=EACH)


@pytest.mark.parametrize("clean_rows", [10, 20, 300])
def test_in_groups_few_doubted_rows_show_in_no_end_of_the_interval(clean_rows):
    right = np.full(200, 0.999)
    one, five = (np.where(np.arange(200) < few, 0.001, right) for few in (1, 5))
    none_, single, group = (
        np.round([found.share * 200, found.low * 200, found.high * 200])
        for found in (wrong_labels(p, 2, clean_rows=clean_rows, groups=EACH) for p in (right, one, five))
    )
    assert (none_ == single).all()
    assert (none_ != group).any()


@pytest.mark.parametrize("clean_rows", [19, 30, 300])
def test_in_groups_few_odd_rows_show_in_no_end_of_the_interval(clean_rows):
    """With few clean rows the upper end lies so high that no rounding hides one row more."""
    usual = np.ones(200)
    one, copies, group = (np.where(np.arange(200) < few, 1e-3, usual) for few in (1, 5, 6))
    five_copies = Groups(np.maximum(np.arange(200), 4), 5)
    none_ = odd_share(usual, clean_rows=clean_rows, groups=EACH)
    assert odd_share(one, clean_rows=clean_rows, groups=EACH) == none_
    assert odd_share(copies, clean_rows=clean_rows, groups=five_copies) == none_
    assert odd_share(1.001 - one, clean_rows=clean_rows, groups=EACH) == odd_share(
        np.full(200, 1e-3), clean_rows=clean_rows, groups=EACH
    )
    if clean_rows < 300:
        assert odd_share(group, clean_rows=clean_rows, groups=EACH) != none_


@pytest.mark.parametrize("true", [0.0, 0.1, 0.3])
def test_groups_hardly_change_an_honest_estimate(true):
    for seed in range(10):
        right, _ = labelled(true, rows=200, seed=seed)
        exact = wrong_labels(right, 4, clean_rows=300)
        grouped = wrong_labels(right, 4, clean_rows=300, groups=EACH)
        assert grouped.share == pytest.approx(exact.share, abs=0.03)
        assert grouped.high < 1.0
