"""What candidates say of rows, beside what is said by going through the rows one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from fedbary.judging import candidates
from fedbary.judging.candidates import Candidates, OwnRows
from fedbary.judging.discriminant import Discriminant

KAPPA, UNSURE = 10.0, 3.0


@pytest.fixture(autouse=True, scope="module")
def _every_row_is_heard():
    """Rows far from all classes say less; here they say what the formulas say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_FAR", np.inf)
        yield


def own_rows(rows, codes, classes):
    known = codes >= 0
    sums = np.zeros((classes, rows.shape[1]))
    np.add.at(sums, codes[known], rows[known])
    counts = np.bincount(codes[known], minlength=classes).astype(float)
    return OwnRows(counts, sums, rows.mean(axis=0), rows.var(axis=0))


def model(seed, classes=3, width=2, count=50.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(width, width))
    return Discriminant(
        np.zeros(width),
        np.ones(width),
        np.full(classes, count),
        rng.normal(size=(classes, width)),
        np.eye(width) + root @ root.T,
    )


def client(seed, rows=20, classes=3):
    rng = np.random.default_rng(seed + 1)
    codes = rng.integers(0, classes, rows)
    return 0.5 + 2.0 * rng.normal(size=(rows, 2)) + codes[:, None], codes


def test_own_rows_are_sums_and_moments_of_all_rows_that_are_known():
    rows, codes = client(0)
    codes[:2] = -1
    own = own_rows(rows, codes, 4)
    np.testing.assert_allclose(own.sums[1], rows[codes == 1].sum(axis=0))
    assert own.rows == 18
    assert own.counts[3] == 0
    assert own.shares.sum() == pytest.approx(1.0)
    assert own.shares.min() > 0.0
    np.testing.assert_allclose(own.stated, own.counts / 18)
    np.testing.assert_allclose(own.variance, rows.var(axis=0))


@given(st.integers(0, 10_000))
def test_others_are_gaussians_with_the_clients_own_shares_as_prior(seed):
    rows, codes = client(seed)
    others, own = model(seed), own_rows(rows, codes, 3)
    found = Candidates(others, own)(rows, codes)[0][0]
    wide = (1.0 + 1.0 / (others.counts + UNSURE))[:, None, None] * others.covariance
    logs = np.column_stack([multivariate_normal.logpdf(rows, others.means[c], wide[c]) for c in range(3)])
    np.testing.assert_allclose(found, log_softmax(logs + np.log(own.shares), axis=1), atol=1e-9)


@given(st.integers(0, 10_000))
def test_no_row_is_in_the_own_mean_that_judges_it(seed):
    rows, codes = client(seed)
    others, own = model(seed), own_rows(rows, codes, 3)
    found = Candidates(others, own)(rows, codes)[0][2]
    pulled = others.means - own.stated @ others.means + rows.mean(axis=0)
    factor = 1.0 + 1.0 / (own.counts + KAPPA + UNSURE)
    inverse = np.linalg.inv(others.covariance)
    for place, row in enumerate(rows):
        left = np.arange(len(rows)) != place
        logs = []
        for code in range(3):
            mine = rows[left & (codes == code)]
            # The others' mean weighs as κ rows, and one row less where a row is left out of the sum itself.
            away = row - (mine.sum(axis=0) + KAPPA * pulled[code]) / (len(mine) + KAPPA)
            logs.append(-0.5 * away @ inverse @ away / factor[code] - np.log(factor[code]))
        np.testing.assert_allclose(found[place], log_softmax(np.array(logs) + np.log(own.shares)), atol=1e-8)


@given(st.integers(0, 10_000))
def test_others_and_others_moved_are_the_same_where_nothing_is_shifted(seed):
    others, (rows, codes) = model(seed), client(seed)
    counted = own_rows(rows, codes, 3)
    mean = counted.stated @ others.means
    variance = others.variances + counted.stated @ (others.means - mean) ** 2
    candidates = Candidates(others, OwnRows(counted.counts, counted.sums, mean, variance))
    (plain, moved, _), *_ = candidates(rows, codes)
    np.testing.assert_allclose(moved, plain, atol=1e-9)
    np.testing.assert_allclose(candidates.moved(rows), rows, atol=1e-9)
    assert candidates.moved.shift == pytest.approx(0.0, abs=1e-9)


def test_a_shift_of_the_whole_client_changes_what_others_say_and_not_what_others_moved_say():
    others, (rows, codes) = model(3), client(3, rows=400)
    here, there = (
        Candidates(others, own_rows(values, codes, 3))(values, codes)[0]
        for values in (rows, rows + np.array([4.0, -2.0]))
    )
    np.testing.assert_allclose(there[1], here[1], atol=1e-9)
    np.testing.assert_allclose(there[2], here[2], atol=1e-9)
    assert np.abs(there[0] - here[0]).max() > 1.0


@given(st.integers(0, 10_000))
def test_distances_are_those_of_the_mixture_around_pooled_means_without_the_row(seed):
    rows, codes = client(seed)
    others, own = model(seed), own_rows(rows, codes, 3)
    candidates = Candidates(others, own)
    moved, inverse = candidates.moved(rows), np.linalg.inv(others.covariance)
    found = candidates(rows, codes)[1]
    for place, row in enumerate(moved):
        left = np.arange(len(rows)) != place
        masses = []
        for code in range(3):
            mine = moved[left & (codes == code)]
            away = row - (mine.sum(axis=0) + KAPPA * others.means[code]) / (len(mine) + KAPPA)
            masses.append(own.shares[code] * np.exp(-0.5 * away @ inverse @ away))
        assert found[place] == pytest.approx(-2.0 * np.log(sum(masses)), rel=1e-7, abs=1e-7)


@given(st.integers(0, 10_000))
def test_deviations_are_from_the_nearest_pooled_mean(seed):
    rows, codes = client(seed)
    others, own = model(seed), own_rows(rows, codes, 3)
    candidates = Candidates(others, own)
    moved, inverse = candidates.moved(rows), np.linalg.inv(others.covariance)
    means = np.array(
        [
            (moved[codes == code].sum(axis=0) + KAPPA * others.means[code]) / ((codes == code).sum() + KAPPA)
            for code in range(3)
        ]
    )
    for row, found in zip(moved, candidates.deviations(rows), strict=True):
        away = row - means
        expected = away[np.einsum("ij,jk,ik->i", away, inverse, away).argmin()]
        np.testing.assert_allclose(found, expected, atol=1e-8)


def test_rows_of_unknown_classes_are_judged_by_all_means():
    rows, codes = client(5)
    others, own = model(5), own_rows(rows, codes, 3)
    nobody = np.full(len(rows), -1)
    found = Candidates(others, own)(rows, nobody)[0]
    assert all(np.isfinite(one).all() for one in found)
    np.testing.assert_allclose(found[0], Candidates(others, own)(rows, codes)[0][0])
