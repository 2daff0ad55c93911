"""Labels that are numbers: lines of others, others moved and a client's own, beside least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.discriminant import Discriminant
from fedbary.judging.lines import Lines, judged_numbers, line_weights, residual_spread

KAPPA, RIDGE = 10.0, 1.0
SLOPE = np.array([1.0, -2.0])


def client(seed, rows=40, *, shift=0.0, noise=0.3):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 2)) + shift
    return values, (values - shift) @ SLOPE + noise * rng.normal(size=rows) + 3.0 * shift


def model(rows=1e6, noise=0.3):
    """Of rows that lie around the origin, with this slope."""
    covariance = np.eye(3)
    covariance[:2, 2] = covariance[2, :2] = SLOPE
    covariance[2, 2] = SLOPE @ SLOPE + noise**2
    return Discriminant(np.zeros(3), np.ones(3), np.array([rows]), np.zeros((1, 3)), covariance)


def lines_of(values, labels):
    both = np.column_stack([values, labels])
    return Lines(model(), both.mean(axis=0), np.cov(both.T, bias=True), float(len(both)))


def test_others_and_others_moved_have_the_others_slope():
    values, labels = client(0, shift=2.0)
    moved = values - values.mean(axis=0)
    plain, by_moved, _ = lines_of(values, labels)(values, moved, labels)
    np.testing.assert_allclose(plain, values @ SLOPE, atol=1e-4)
    np.testing.assert_allclose(by_moved, labels.mean() + moved @ SLOPE, atol=1e-4)


@given(st.integers(0, 1000))
def test_the_own_line_leaves_out_the_row_that_it_judges(seed):
    """Beside a ridge regression about the same mean that never saw the row."""
    values, labels = client(seed)
    found = lines_of(values, labels)(values, values, labels)[2]
    centre, middle = values.mean(axis=0), labels.mean()
    away, over = values - centre, labels - middle
    others = model().covariance
    for place in range(len(values)):
        left = np.arange(len(values)) != place
        inside = away[left].T @ away[left] + KAPPA * others[:2, :2] + RIDGE * np.eye(2)
        slope = np.linalg.solve(inside, away[left].T @ over[left] + KAPPA * others[:2, 2])
        # Leaving the row out of the mean, too, takes 1/n of what is left; the closed form has both to that order.
        expected = middle + away[place] @ slope
        assert found[place] == pytest.approx(expected - (labels[place] - expected) / (len(values) - 1), abs=0.05)


def test_the_own_line_of_a_row_hardly_follows_its_own_label():
    values, labels = client(1)
    there = labels.copy()
    there[3] += 100.0
    mean = np.append(values.mean(axis=0), labels.mean())
    lines = Lines(model(), mean, np.cov(np.column_stack([values, labels]).T, bias=True), 40.0)
    here, far = (lines(values, values, some)[2] for some in (labels, there))
    assert far[3] < here[3]  # what the label had pulled the line by is taken off
    np.testing.assert_array_equal(np.delete(here, 3), np.delete(far, 3))


@pytest.mark.parametrize("least", [1, 5])
def test_the_line_that_is_right_gets_the_weight_and_the_spread_is_that_of_its_residuals(least):
    rng = np.random.default_rng(0)
    labels = rng.normal(size=800)
    right = labels + 0.2 * rng.normal(size=800)
    found = line_weights(np.array([rng.normal(size=800), right, -labels]), labels, least=least)
    assert found[:-1].sum() == pytest.approx(1.0, abs=0.06)
    assert found[1] > 0.9
    assert found[-1] == pytest.approx(0.2, rel=0.15)


def test_lines_alike_share_their_weight():
    labels = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(line_weights(np.array([labels + 1.0] * 2), labels)[:-1], 0.5, atol=0.02)


@given(st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=40), st.integers(2, 6))
def test_the_spread_is_a_median_or_a_mean_of_a_group_in_the_middle(away, least):
    values = np.array(away)
    assert residual_spread(values) == pytest.approx(max(1.4826 * np.median(np.abs(values)), 1e-9))
    ordered = np.sort(np.abs(values))
    assert ordered[0] <= residual_spread(values, least=least) / 1.4826 + 1e-9
    assert residual_spread(values, least=least) / 1.4826 <= ordered[-1] + 1e-9


def test_the_guarded_spread_is_no_rows_residual():
    away = np.random.default_rng(0).normal(size=101)
    assert np.abs(1.4826 * np.abs(away) - residual_spread(away)).min() == 0.0
    assert np.abs(1.4826 * np.abs(away) - residual_spread(away, least=5)).min() > 0.0


def test_labels_that_do_not_fit_are_surprising_wherever_the_client_lies():
    rng = np.random.default_rng(0)
    said = rng.normal(size=300)
    labels = said + 0.1 * rng.normal(size=300)
    labels[:30] = rng.normal(size=30) + 4.0
    found, suggested = judged_numbers(np.array([said, said]), labels, np.array([0.5, 0.5, 0.1]))
    np.testing.assert_allclose(suggested, said)
    assert found.surprise[:30].min() > np.median(found.surprise[30:])
    assert (found.right[30:] > found.wrong[30:]).mean() > 0.9
    assert (found.right[:30] < found.wrong[:30]).all()
    assert found.other.tolist() == [-1] * 300


def test_a_client_with_most_labels_wrong_does_not_make_them_usual():
    rng = np.random.default_rng(1)
    said, labels = rng.normal(size=200), rng.normal(size=200)
    found, _ = judged_numbers(np.array([said]), labels, np.array([1.0, 0.1]))
    assert np.median(found.surprise) > 5.0
