"""Repairing noisy moments: nothing changes without noise, more noise never helps, and repair does."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.protocols.cards.class_moments import EXACT, ClassMoments, Noise, repaired

CLASSES, WIDTH = 6, 12
CENTRES = np.random.default_rng(0).standard_normal((CLASSES, WIDTH)) * np.linspace(1.0, 0.1, WIDTH)
SPREADS = np.linspace(1.0, 0.2, WIDTH)


def rows(count, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CLASSES, count)
    return CENTRES[codes] + SPREADS * rng.standard_normal((count, WIDTH)), codes


def moments(count=2000, seed=1):
    points, codes = rows(count, seed)
    corners = np.eye(CLASSES)[codes]
    return ClassMoments(corners.sum(axis=0), corners.T @ points, points.T @ points)


def noisy(exact, sigma, seed):
    rng = np.random.default_rng(seed)
    width = exact.sums.shape[1]
    products = np.tril(rng.standard_normal((width, width)), -1)
    products = products + products.T + np.sqrt(2.0) * np.diag(rng.standard_normal(width))
    return ClassMoments(
        exact.counts + np.sqrt(2.0) * sigma * rng.standard_normal(len(exact.counts)),
        exact.sums + sigma * rng.standard_normal(exact.sums.shape),
        exact.second + sigma * products,
        Noise(2.0 * sigma**2, sigma**2, sigma**2),
    )


def accuracy(means, covariance):
    points, codes = rows(2000, 99)
    away = points[:, None] - means
    costs = np.einsum("rkd,de,rke->rk", away, np.linalg.inv(covariance), away)
    return float((costs.argmin(axis=1) == codes).mean())


def test_without_noise_nothing_changes():
    exact = moments()
    counts, means, covariance = repaired(exact)
    assert exact.noise == EXACT
    assert counts == pytest.approx(exact.counts)
    assert means == pytest.approx(exact.means)
    assert covariance == pytest.approx(exact.within() / exact.rows, abs=1e-9)


def test_little_noise_changes_little():
    exact = moments()
    for one, two in zip(repaired(exact), repaired(noisy(exact, 1e-3, 0)), strict=True):
        assert two == pytest.approx(one, abs=1e-2)


def test_more_noise_never_helps_on_average_and_repair_does():
    exact = moments()
    found, plain = [], []
    for sigma in (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0):
        draws = [noisy(exact, sigma, seed) for seed in range(12)]
        found.append(np.mean([accuracy(*repaired(draw)[1:]) for draw in draws]))
        plain.append(np.mean([accuracy(draw.means, np.eye(WIDTH) * SPREADS.mean()) for draw in draws]))
    assert all(less <= more + 0.003 for more, less in pairwise(found))
    assert found[3] > plain[3]
    assert found[-1] > 1.0 / CLASSES


@given(st.floats(0.01, 1e4), st.integers(0, 10**6), st.integers(1, 3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whatever_the_noise_there_is_a_model(sigma, seed, classes, full):
    exact = ClassMoments(np.zeros(classes), np.zeros((classes, 4)), np.zeros((4, 4)))
    moments = noisy(exact, sigma, seed)
    counts, means, covariance = repaired(moments if full else moments.diagonal())
    assert (counts > 0).all()
    assert np.isfinite(means).all()
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_a_class_that_hardly_anybody_has_lies_near_the_grand_mean():
    exact = moments()
    exact.counts[0], exact.sums[0] = 0.0, 0.0
    away = []
    for seed in range(10):
        counts, means, _ = repaired(noisy(exact, 30.0, seed))
        away.append(np.linalg.norm(means - counts @ means / counts.sum(), axis=1))
    empty, *others = np.mean(away, axis=0)
    assert empty < 0.5 * np.mean(others)


def test_a_number_as_label_has_one_class():
    points = np.random.default_rng(2).standard_normal((500, 3))
    exact = ClassMoments(np.array([500.0]), points.sum(axis=0)[None], points.T @ points)
    counts, means, covariance = repaired(noisy(exact, 2.0, 0))
    assert counts.shape == (1,)
    assert means == pytest.approx(points.mean(axis=0)[None], abs=0.05)
    assert covariance == pytest.approx(np.cov(points.T, bias=True), abs=0.1)
