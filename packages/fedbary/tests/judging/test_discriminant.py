"""The discriminant that all judging stands on, beside the textbook's formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.errors import ProtocolError
from fedbary.judging.discriminant import Discriminant, standardising, steadied

LEAST, RIDGE, PSEUDO = 0.05, 1e-3, 3.0


def drawn(seed, rows=80, width=3, classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, rows)
    return 4.0 + 2.0 * rng.normal(size=(classes, width))[codes] + rng.normal(size=(rows, width)), codes


def moments(values, codes, classes=3):
    sums = np.array([values[codes == code].sum(axis=0) for code in range(classes)])
    return np.bincount(codes, minlength=classes).astype(float), sums, values.T @ values


def made(values, codes, classes=3):
    counts, sums, second = moments(values, codes, classes)
    centre, scale = standardising(counts.sum(), sums.sum(axis=0), np.diag(second))
    return Discriminant.of(counts, sums, second, centre, scale)


@given(st.integers(0, 10_000))
def test_moments_give_the_means_and_the_pooled_covariance_of_the_rows(seed):
    values, codes = drawn(seed)
    found = made(values, codes)
    rows = (values - values.mean(axis=0)) / values.std(axis=0)
    counts = np.bincount(codes, minlength=3)
    means = np.array([rows[codes == code].mean(axis=0) for code in range(3)])
    # Standardised rows have their grand mean at the origin.
    np.testing.assert_allclose(found.means, means * (counts / (counts + PSEUDO))[:, None], atol=1e-9)
    inside = rows - means[codes]
    pooled = inside.T @ inside / (len(rows) - 3)
    kept = 1.0 - 3.0 / (3.0 + len(rows) - 3)
    expected = np.where(np.eye(3), np.maximum(np.diag(pooled), LEAST), kept * pooled)
    expected += RIDGE * np.maximum(np.diag(pooled), LEAST).mean() * np.eye(3)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-9)


@given(st.integers(0, 10_000))
def test_rows_times_the_root_are_white_inside_classes(seed):
    found = made(*drawn(seed))
    np.testing.assert_allclose(found.root.T @ found.covariance @ found.root, np.eye(3), atol=1e-9)


def test_squares_alone_give_the_diagonal():
    values, codes = drawn(0)
    counts, sums, second = moments(values, codes)
    centre, scale = standardising(counts.sum(), sums.sum(axis=0), np.diag(second))
    full = Discriminant.of(counts, sums, second, centre, scale)
    short = Discriminant.of(counts, sums, np.diag(second), centre, scale)
    np.testing.assert_allclose(short.covariance, np.diag(np.diag(full.covariance)), atol=1e-9)
    np.testing.assert_allclose(short.means, full.means)


@given(st.integers(0, 10_000), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_units_and_origins_change_nothing(seed, origin, unit):
    values, codes = drawn(seed)
    here, there = made(values, codes), made(origin + unit * values, codes)
    np.testing.assert_allclose(there.means, here.means, atol=1e-3)
    np.testing.assert_allclose(there.covariance, here.covariance, atol=1e-3)
    np.testing.assert_allclose(there.standardised(origin + unit * values), here.standardised(values), atol=1e-3)


def test_a_coordinate_that_does_not_vary_keeps_its_unit():
    values = np.column_stack([np.arange(10.0), np.full(10, 7.0)])
    centre, scale = standardising(10.0, values.sum(axis=0), (values**2).sum(axis=0))
    assert (centre[1], scale[1]) == (7.0, 1.0)
    assert scale[0] == pytest.approx(np.arange(10.0).std())


def test_a_covariance_that_is_none_is_made_one():
    np.linalg.cholesky(steadied(np.array([[1.0, 9.0], [9.0, 1.0]]), 1e6))
    np.linalg.cholesky(steadied(np.zeros((4, 4)), 1.0))


def test_the_first_coordinates_are_a_discriminant_of_their_own():
    values, codes = drawn(1)
    found = made(values, codes).first(2)
    np.testing.assert_array_equal(found.covariance, made(values, codes).covariance[:2, :2])
    assert found.standardised(values[:, :2]).shape == (80, 2)
    assert made(values, codes).first(3).means.shape == (3, 3)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a.update(centre=a["centre"][:2]),
        lambda a: a.update(means=a["means"][:2]),
        lambda a: a.update(scale=np.zeros(3)),
        lambda a: a.update(scale=np.array([1.0, np.nan, 1.0])),
        lambda a: a.update(counts=-a["counts"]),
        lambda a: a.update(counts=np.full(3, np.nan)),
        lambda a: a.update(covariance=-a["covariance"]),
        lambda a: a.update(covariance=a["covariance"] + np.triu(np.ones((3, 3)), 1)),
        lambda a: a.update(covariance=np.full((3, 3), np.nan)),
        lambda a: a.update(covariance=np.zeros((3, 3))),
    ],
)
def test_it_travels_without_loss_and_refuses_what_no_honest_server_sends(spoil):
    arrays = made(*drawn(2)).to_arrays()
    again = Discriminant.from_arrays(arrays, width=3, classes=3)
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(again, name), array)
    spoil(arrays)
    with pytest.raises(ProtocolError, check=coded("protocols.server-array")):
        Discriminant.from_arrays(arrays, width=3, classes=3)
