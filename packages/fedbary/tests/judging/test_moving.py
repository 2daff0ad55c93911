"""A client's rows are moved to where a model expects them, and no farther than its rows can tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.judging.discriminant import Moved

MANY = 1e15


def client(seed, rows=60):
    """Rows, their class shares, class means and variances inside classes."""
    rng = np.random.default_rng(seed)
    codes = np.append([0, 1, 2], rng.integers(0, 3, rows - 3))
    values = rng.normal(size=(3, 2))[codes] + rng.normal(size=(rows, 2))
    means = np.array([values[codes == code].mean(axis=0) for code in range(3)])
    return values, np.bincount(codes) / rows, means, ((values - means[codes]) ** 2).mean(axis=0)


@given(st.integers(0, 10_000), st.floats(-50.0, 50.0), st.floats(0.5, 4.0))
def test_a_client_that_lies_elsewhere_comes_back_exactly(seed, shift, times):
    values, shares, means, variances = client(seed)
    away = shift + times * values
    moved = Moved.of(away.mean(axis=0), away.var(axis=0), shares, MANY, means=means, variances=variances)
    np.testing.assert_allclose(moved(away), values, atol=1e-9)
    assert moved.log_times == pytest.approx(np.log(times), abs=1e-9)
    expected = (away.mean(axis=0) - values.mean(axis=0)) / values.std(axis=0)
    np.testing.assert_allclose(moved.offset, expected, atol=1e-9)
    assert moved.shift == pytest.approx(np.sqrt((expected**2).mean()))


def test_few_rows_hardly_change_their_spread():
    values, shares, means, variances = client(0)
    away = 3.0 * values
    found = [
        Moved.of(away.mean(axis=0), away.var(axis=0), shares, rows, means=means, variances=variances).times
        for rows in (0.0, 50.0, MANY)
    ]
    np.testing.assert_allclose(found, [np.ones(2), np.full(2, np.sqrt(3.0)), np.full(2, 3.0)])


def test_no_spread_is_put_right_beyond_five_times_nor_where_a_column_hardly_varies():
    shares, means, variances = np.ones(1), np.zeros((1, 3)), np.ones(3)
    found = Moved.of(np.zeros(3), np.array([1e6, 0.06, 0.01]), shares, MANY, means=means, variances=variances)
    np.testing.assert_allclose(found.times, [5.0, np.sqrt(0.06), 1.0])


def test_other_class_shares_are_no_shift():
    """Nine in ten rows of the second class: the client's mean lies near that class, as it should."""
    means, variances = np.array([[-2.0], [2.0]]), np.ones(1)
    mean, variance = np.array([1.6]), np.array([1.0 + 0.9 * 0.1 * 16.0])
    found = Moved.of(mean, variance, np.array([0.1, 0.9]), 500.0, means=means, variances=variances)
    assert found.shift == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found(np.array([[0.3]])), [[0.3]])
