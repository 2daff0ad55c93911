"""Transport that starts from the potentials of a similar problem finds what a solve from scratch finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.transport import Target, barycentric_projection, simplex, solve


@st.composite
def problems(draw):
    """Weighted points on a grid, so that plans tie, and potentials to start from that may be far off."""
    points, targets, width = draw(st.integers(2, 8)), draw(st.integers(9, 24)), draw(st.integers(1, 3))
    cells = st.integers(-4, 4).map(float)
    X, Y = (draw(hnp.arrays(np.float64, (size, width), elements=cells)) for size in (points, targets))
    a, b = (draw(hnp.arrays(np.float64, size, elements=st.integers(1, 4).map(float))) for size in (points, targets))
    start = draw(hnp.arrays(np.float64, targets, elements=st.floats(-50, 50)))
    return X, Y, a / a.sum(), b / b.sum(), start


@given(problems(), st.sampled_from([1, 2]), st.booleans())
def test_any_start_leads_to_an_optimal_plan_with_its_proof(problem, p, good):
    X, Y, a, b, start = problem
    exact = solve(X, Y, a, b, p=p)
    found = solve(X, Y, a, b, p=p, start=exact.target_potential + start * 1e-3 if good else start)
    costs = np.linalg.norm(X[:, None] - Y[None], axis=2) ** p
    assert found.cost == pytest.approx(exact.cost, abs=1e-11)
    assert abs(found.gap) <= 1e-10
    assert (found.source_potential[:, None] + found.target_potential <= costs + 1e-10).all()
    np.testing.assert_allclose(found.plan.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(axis=0), b, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_measure_that_moved_a_little_is_transported_on_few_pairs(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, 20)), rng.normal(size=(300, 20))
    before = solve(X, Y)
    moved = X + 0.05 * rng.normal(size=X.shape)
    exact = solve(moved, Y)
    monkeypatch.setattr(simplex, "network_simplex", None)  # all pairs are not needed
    found = solve(moved, Y, start=before.target_potential)
    assert found.cost == pytest.approx(exact.cost, rel=1e-13)
    np.testing.assert_allclose(found.plan, exact.plan, atol=1e-15)


def test_a_measure_that_moved_far_is_solved_from_scratch():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 20)), rng.normal(size=(300, 20))
    start, exact = solve(-X, Y).target_potential, solve(X, Y)
    np.testing.assert_array_equal(solve(X, Y, start=start).source_potential, exact.source_potential)


def test_the_start_has_one_number_for_each_target():
    with pytest.raises(SettingsError, check=parameter("start")):
        solve(np.zeros((2, 1)), np.ones((3, 1)), start=np.zeros(2))


@pytest.mark.parametrize("p", [1, 2])
def test_a_target_gives_the_same_bytes_as_its_points(p):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(60, 5))
    once, kept = solve(X, Y, p=p), solve(X, Target(Y), p=p)
    assert once.cost == kept.cost
    assert once.source_potential.tobytes() == kept.source_potential.tobytes()
    assert barycentric_projection(once, Y).tobytes() == barycentric_projection(kept, Y).tobytes()
