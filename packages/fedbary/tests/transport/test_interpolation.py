"""Geodesics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.transport import barycentric_projection, interpolate, solve


@pytest.mark.parametrize("p", [1, 2])
@given(t=st.floats(0, 1), seed=st.integers(0, 50))
def test_the_geodesic_has_constant_speed(p, t, seed):
    """W(P, γ_t) = t·W(P, Q) and W(γ_t, Q) = (1 − t)·W(P, Q), for weighted clouds of different sizes."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(9, 3)) + 1
    a, b = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(9))
    plan = solve(X, Y, a, b, p=p)
    points, weights = interpolate(plan, X, Y, t, mode="exact")
    assert solve(X, points, a, weights, p=p).distance == pytest.approx(t * plan.distance, abs=1e-6)
    assert solve(points, Y, weights, b, p=p).distance == pytest.approx((1 - t) * plan.distance, abs=1e-6)


def test_barycentric_and_exact_agree_where_the_plan_is_a_matching():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
    plan = solve(X, Y)
    exact, barycentric = (interpolate(plan, X, Y, 0.3, mode=mode)[0] for mode in ("exact", "barycentric"))
    np.testing.assert_allclose(exact[np.argsort(plan.source)], barycentric, atol=1e-12)


def test_the_barycentric_projection_is_the_conditional_mean():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(11, 2))
    plan = solve(X, Y)
    np.testing.assert_allclose(barycentric_projection(plan, Y), plan.plan @ Y * 4, atol=1e-12)


def test_t_outside_its_range_is_refused():
    X = np.zeros((1, 1))
    with pytest.raises(SettingsError, check=parameter("t")):
        interpolate(solve(X, X), X, X, 1.5)
