"""The competition of candidates: the right one wins, and no single row decides where that is asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import log_softmax

from fedbary.judging.competition import coarse, joint, moved_or_not, own_weights, with_others


def candidates(seed, rows=500, classes=3, *, wrong=0.0):
    """One that draws the labels, one that says nothing, and one that is sure of what it does not know."""
    rng = np.random.default_rng(seed)
    right = log_softmax(2.0 * rng.normal(size=(rows, classes)), axis=1)
    codes = (rng.random((rows, 1)) > np.cumsum(np.exp(right), axis=1)).sum(axis=1).clip(max=classes - 1)
    replaced = rng.random(rows) < wrong
    codes = np.where(replaced, rng.integers(0, classes, rows), codes)
    nothing = np.full((rows, classes), -np.log(classes))
    misled = log_softmax(2.0 * rng.normal(size=(rows, classes)), axis=1)
    return np.array([right, nothing, misled]), codes


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_candidate_that_is_right_gets_its_weight_whether_or_not_some_labels_are_wrong(wrong):
    found = own_weights(*candidates(0, 3000, wrong=wrong))
    assert found[0] == pytest.approx(1.0, abs=0.2)
    assert found[2] < 0.1


def test_with_no_rows_one_class_or_candidates_alike_all_count_alike():
    np.testing.assert_allclose(own_weights(np.zeros((3, 0, 2)), np.zeros(0, dtype=int)), 1.0 / 3.0)
    np.testing.assert_allclose(own_weights(np.zeros((3, 9, 1)), np.zeros(9, dtype=int)), 1.0 / 3.0)
    one, codes = candidates(1)
    found = own_weights(np.array([one[0]] * 4), codes)
    assert found == pytest.approx(np.full(4, found[0]), rel=1e-4)


def test_the_order_of_candidates_and_of_classes_changes_nothing():
    given_, codes = candidates(2)
    np.testing.assert_allclose(own_weights(given_[::-1], codes)[::-1], own_weights(given_, codes), rtol=1e-2)
    order = np.array([2, 0, 1])
    np.testing.assert_allclose(own_weights(given_[:, :, order], np.argsort(order)[codes]), own_weights(given_, codes))


@given(st.integers(0, 1000), st.lists(st.floats(-3.0, 2.0), min_size=4, max_size=4))
def test_the_gradient_is_that_of_the_loss(seed, place):
    losses = []

    def keep(loss, start, **_):
        losses.append(loss)
        return type("Found", (), {"x": start})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.optimize.minimize", keep)
        own_weights(*candidates(seed, 40))
    value, slope = losses[0](np.array(place))
    assert np.isfinite(value)
    by_differences = approx_fprime(np.array(place), lambda x: losses[0](x)[0], 1e-7)
    np.testing.assert_allclose(slope, by_differences, rtol=1e-3, atol=1e-3)


def test_a_row_of_which_alone_a_model_speaks_decides_unless_a_group_has_to():
    usual = np.full(2, np.log(0.5))
    rows = np.tile(usual, (3, 200, 1))
    codes = np.arange(200) % 2
    rows[0, 7] = np.log([0.99, 0.01])
    found = {}
    for least in (1, 5):
        for label in (0, 1):
            codes[7] = label
            found[least, label] = own_weights(with_others(rows, usual, least), codes)
    assert abs(found[1, 0][0] - found[1, 1][0]) > 0.02
    np.testing.assert_allclose(found[5, 0], found[5, 1], rtol=1e-9)


@given(st.integers(0, 1000), st.integers(1, 8), st.integers(1, 30))
def test_no_row_is_farther_from_the_usual_than_a_group_of_rows(seed, least, rows):
    said = np.random.default_rng(seed).standard_cauchy(size=(2, rows, 3))
    found = with_others(said, np.ones(3), least)
    size, before = (np.abs(one - 1.0).max(axis=2) for one in (found, said))
    most = np.sort(before, axis=1)[:, -min(least, rows)]
    assert (size <= most[:, None] * (1 + 1e-9)).all()
    # As many may be nearer to the usual than most rows are, and are taken to these; all others stay.
    kept = np.isclose(found, said, rtol=1e-9).all(axis=2)
    assert (kept.sum(axis=1) >= rows - 2 * (least - 1)).all()


@given(st.integers(0, 1000), st.integers(2, 8))
def test_a_row_of_which_nothing_is_said_is_like_all_others_that_are_alike(seed, least):
    said = np.tile(np.random.default_rng(seed).normal(size=(2, 1, 3)), (1, 40, 1))
    silent = said.copy()
    silent[:, 7] = 1.0
    np.testing.assert_allclose(with_others(silent, np.ones(3), least), said)


def test_weights_leave_in_steps_of_a_tenth():
    np.testing.assert_allclose(np.log(coarse(np.array([1.0, 0.5, 2.718]))), [0.0, -0.7, 1.0])


def test_a_candidate_and_its_moved_one_count_alike_for_clients_that_may_lie_elsewhere():
    np.testing.assert_allclose(moved_or_not(np.array([0.4, 0.2, 0.1])), [0.3, 0.3, 0.1])
    np.testing.assert_allclose(moved_or_not(np.array([1.0, 3.0, 0.1, 0.0, 2.0])), [2.0, 2.0, 0.1, 1.0, 1.0])


def test_together_candidates_are_a_product_of_powers():
    given_, _ = candidates(3, 10)
    found = joint(given_, np.array([0.5, 1.0, 2.0]))
    expected = np.exp(0.5 * given_[0] + given_[1] + 2.0 * given_[2])
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))
