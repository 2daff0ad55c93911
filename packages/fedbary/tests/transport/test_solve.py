"""Exact transport on problems whose answers are known."""

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from codes import coded, parameter
from fedbary.errors import SettingsError, TransportError
from fedbary.transport import solve


def clouds(max_points=12, max_width=4):
    coordinates = st.floats(-10, 10, width=32)
    sizes = st.tuples(st.integers(1, max_points), st.integers(1, max_points), st.integers(1, max_width))
    return sizes.flatmap(
        lambda s: st.tuples(
            hnp.arrays(np.float64, (s[0], s[2]), elements=coordinates),
            hnp.arrays(np.float64, (s[1], s[2]), elements=coordinates),
            hnp.arrays(np.float64, s[0], elements=st.floats(0.0625, 1.0)),
            hnp.arrays(np.float64, s[1], elements=st.floats(0.0625, 1.0)),
        )
    )


def check_solution(result, X, Y, a, b, p):
    """Marginals, feasibility, complementary slackness and a closed duality gap: the proof of optimality."""
    costs = np.linalg.norm(X[:, None] - Y[None], axis=2) ** p
    scale = 1 + costs.max()
    np.testing.assert_allclose(result.plan.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(result.plan.sum(axis=0), b, atol=1e-12)
    f, g = result.source_potential, result.target_potential
    assert (f[:, None] + g[None] <= costs + 1e-9 * scale).all()
    assert abs(result.gap) <= 1e-9 * scale
    assert result.cost == pytest.approx((result.plan * costs).sum(), abs=1e-9 * scale)
    assert a @ f == pytest.approx(b @ g, abs=1e-9 * scale)


@given(clouds(), st.sampled_from([1, 2]))
def test_every_solution_carries_the_proof_that_it_is_optimal(problem, p):
    X, Y, a, b = problem
    a, b = a / a.sum(), b / b.sum()
    check_solution(solve(X, Y, a, b, p=p), X, Y, a, b, p)


@given(clouds(), st.sampled_from([1, 2]))
def test_the_distance_is_symmetric_and_scales_with_the_points(problem, p):
    X, Y, a, b = problem
    a, b = a / a.sum(), b / b.sum()
    distance = solve(X, Y, a, b, p=p).distance
    assert solve(Y, X, b, a, p=p).distance == pytest.approx(distance, abs=1e-6)
    assert solve(3 * X, 3 * Y, a, b, p=p).distance == pytest.approx(3 * distance, abs=1e-5)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.floats(-10, 10)),
    hnp.arrays(np.float64, 3, elements=st.floats(-10, 10)),
    st.sampled_from([1, 2]),
)
def test_a_translated_cloud_is_as_far_as_the_shift(X, shift, p):
    assert solve(X, X + shift, p=p).distance == pytest.approx(np.linalg.norm(shift), abs=1e-6)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_assignment_and_network_simplex_agree(p, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(40, 5)), rng.normal(size=(40, 5)) + 0.5
    exact, assigned = solve(X, Y, p=p, method="exact"), solve(X, Y, p=p, method="assignment")
    assert assigned.method == solve(X, Y, p=p).method == "assignment"
    assert exact.cost == pytest.approx(assigned.cost, rel=1e-12)
    uniform = np.full(40, 1 / 40)
    check_solution(assigned, X, Y, uniform, uniform, p)


def test_the_distance_of_gaussians_approaches_the_bures_formula():
    rng = np.random.default_rng(0)
    means, roots = (
        np.array([[0.0, 0.0], [2.0, 1.0]]),
        [np.array([[1.0, 0.3], [0.3, 0.8]]), np.array([[0.6, -0.2], [-0.2, 1.2]])],
    )
    exact = ot.gaussian.bures_wasserstein_distance(*means, roots[0] @ roots[0], roots[1] @ roots[1])
    errors = []
    for size in (50, 1500):
        clouds = [mean + rng.normal(size=(size, 2)) @ root for mean, root in zip(means, roots, strict=True)]
        errors.append(abs(solve(*clouds).distance - float(exact)))
    assert errors[1] < 0.05 * float(exact)
    assert errors[1] < errors[0]


def test_equal_clouds_have_distance_zero_exactly():
    X = np.random.default_rng(0).normal(size=(30, 8)) * 1e3
    assert solve(X, X[::-1]).distance == 0.0


def test_points_without_mass_change_nothing_and_get_feasible_potentials():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    a, b = np.array([0.25, 0.25, 0.5, 0, 0, 0]), np.array([0.5, 0.5, 0, 0, 0])
    result = solve(X, Y, a, b)
    assert result.cost == pytest.approx(solve(X[:3], Y[:2], a[:3], b[:2]).cost)
    check_solution(result, X, Y, a, b, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "facts"),
    [
        (dict(X=np.zeros((2, 2)), Y=np.zeros((2, 3))), "coordinates-differ", {"of_x": 2, "of_y": 3}),
        (dict(X=np.zeros((0, 2)), Y=np.zeros((2, 2))), "not-points", {"name": "X"}),
        (dict(X=np.full((2, 2), np.nan), Y=np.zeros((2, 2))), "not-finite", {"name": "X"}),
        (dict(X=np.zeros((2, 2)), Y=np.zeros((2, 2)), a=np.array([0.5, 0.6])), "weights-sum", {"total": 1.1}),
        (dict(X=np.zeros((2, 2)), Y=np.zeros((2, 2)), a=np.ones(3) / 3), "weights-shape", {"points": 2}),
        (
            dict(X=np.zeros((2, 2)), Y=np.zeros((3, 2)), method="assignment"),
            "no-matching",
            {"sources": 2, "targets": 3},
        ),
    ],
)
def test_ill_posed_problems_are_refused(arguments, code, facts):
    with pytest.raises(TransportError, check=coded(f"transport.{code}")) as raised:
        solve(**arguments)
    assert facts.items() <= raised.value.note.facts.items()


@pytest.mark.parametrize("wrong", [{"p": 3}, {"method": "magic"}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingsError, check=parameter(*wrong)):
        solve(np.zeros((2, 2)), np.zeros((2, 2)), **wrong)
