"""Bures: known answers, the bound of Gelbrich, and the barycenter as a minimum."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbary.transport import bures_barycenter, bures_squared, solve


def covariance(rng: np.random.Generator, width: int, rank: int | None = None) -> np.ndarray:
    factor = rng.standard_normal((width, rank or width))
    return factor @ factor.T


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(1, 6))
def test_it_is_the_distance_of_gaussians_and_a_metric(seed: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, third = (covariance(rng, width) for _ in range(3))
    zero = np.zeros(width)
    assert bures_squared(first, second) == pytest.approx(
        ot.gaussian.bures_wasserstein_distance(zero, zero, first, second) ** 2, rel=1e-6, abs=1e-8
    )
    assert bures_squared(first, second) == pytest.approx(bures_squared(second, first), abs=1e-8)
    assert bures_squared(first, first) == pytest.approx(0.0, abs=1e-7)
    apart, there, back = (np.sqrt(bures_squared(*pair)) for pair in ((first, third), (first, second), (second, third)))
    assert apart <= there + back + 1e-7


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_gelbrich_bounds_the_distance_of_any_clouds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.exponential(size=(12, 3)), rng.standard_normal((17, 3)) * [1, 2, 0.0]
    bound = ((one.mean(0) - two.mean(0)) ** 2).sum() + bures_squared(np.cov(one.T, ddof=0), np.cov(two.T, ddof=0))
    assert bound <= solve(one, two).cost + 1e-7


def test_the_barycenter_of_commuting_covariances_has_the_mean_of_their_roots() -> None:
    found = bures_barycenter([np.diag([1.0, 4.0, 0.0]), np.diag([9.0, 16.0, 0.0])], np.array([0.25, 0.75]))
    assert found == pytest.approx(np.diag([2.5**2, 3.5**2, 0.0]), abs=1e-8)


def test_without_weight_a_covariance_does_not_count() -> None:
    rng = np.random.default_rng(0)
    first, second = covariance(rng, 3), covariance(rng, 3)
    assert bures_barycenter([first, second], np.array([2.0, 0.0])) == pytest.approx(first)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 5), low=st.booleans())
def test_nothing_near_the_barycenter_is_better(seed: int, width: int, low: bool) -> None:
    rng = np.random.default_rng(seed)
    parts = [covariance(rng, width, rank=width - 1 if low else None) for _ in range(4)]
    weights = rng.dirichlet(np.ones(4))
    found = bures_barycenter(parts, weights)

    def total(matrix: np.ndarray) -> float:
        return float(sum(w * bures_squared(matrix, part) for w, part in zip(weights, parts, strict=True)))

    assert np.linalg.eigvalsh(found).min() > -1e-9
    for _ in range(5):
        step = np.eye(width) + 0.02 * rng.standard_normal((width, width))
        assert total(found) <= total(step @ found @ step.T) + 1e-6
