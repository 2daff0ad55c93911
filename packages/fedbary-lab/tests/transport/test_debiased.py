"""Debiased entropic potentials on problems whose answer is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbary.transport import solve
from fedbary_lab.transport.debiased import debiased_potential


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 1.0, 5.0])
def test_two_points_against_one_as_solved_by_hand(epsilon):
    """To one point there is one plan, so f_i = c_i − ⟨a, c⟩/2; of two points at distance 1 with themselves
    (ε/2)·log(2/(1 + e^(−1/ε))) is the potential of both."""
    X, half, costs = np.array([[0.0], [1.0]]), np.full(2, 0.5), np.array([9.0, 4.0])
    itself = epsilon / 2 * np.log(2 / (1 + np.exp(-1 / epsilon)))
    found = debiased_potential(X, np.array([[3.0]]), half, np.ones(1), epsilon=epsilon)
    np.testing.assert_allclose(found, costs - costs.mean() / 2 - itself, atol=1e-8)


@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([0.5, 2.0]))
def test_a_cloud_and_its_copy_have_no_potential(seed, points, epsilon):
    rng = np.random.default_rng(seed)
    X, a = rng.uniform(size=(points, 3)), rng.dirichlet(np.full(points, 5.0))
    order = rng.permutation(points)
    np.testing.assert_allclose(debiased_potential(X, X[order], a, a[order], epsilon=epsilon), 0.0, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(0.1, 10.0))
def test_costs_and_epsilon_scale_together(seed, factor):
    """With the points at factor times the distance and ε at factor² the potentials are factor² times as large:
    geomloss' halved costs at blur² = 0.1 are these at ε = 0.2."""
    rng = np.random.default_rng(seed)
    X, Y, a, b = rng.normal(size=(5, 2)), rng.normal(size=(4, 2)), np.full(5, 0.2), np.full(4, 0.25)
    plain = debiased_potential(X, Y, a, b, epsilon=1.0)
    scaled = debiased_potential(factor * X, factor * Y, a, b, epsilon=factor**2)
    np.testing.assert_allclose(scaled, factor**2 * plain, atol=1e-4 * factor**2)


@pytest.mark.parametrize("seed", range(3))
def test_they_become_exact_as_epsilon_falls(seed):
    """With other numbers of points the exact potentials are unique up to a constant."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1.0
    a, b = np.full(7, 1 / 7), np.full(5, 0.2)
    exact = solve(X, Y, a, b).source_potential
    found = debiased_potential(X, Y, a, b, epsilon=1e-4)
    np.testing.assert_allclose(found - found.mean(), exact - exact.mean(), atol=0.02)
