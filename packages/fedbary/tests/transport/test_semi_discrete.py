"""Transport of many points to a few: certified against the exact solver, however many points are settled in groups."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.transport import semi_discrete as module
from fedbary.transport import solve
from fedbary.transport.cloud import CloudInMemory

ROWS = 1200


@pytest.fixture(scope="module", autouse=True)
def _small_steps():
    """As if the problem was large: a small start, a sample, few points that are settled one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_START", 150)
        patch.setattr(module, "_MOST_SAMPLED", 600)
        patch.setattr(module, "_LEAST_DOUBTFUL", 60)
        yield


def problem(kind, seed, width=3, targets=12):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(ROWS, width)), rng.normal(size=(targets, width)) + 0.5
    a, b = np.full(ROWS, 1 / ROWS), rng.dirichlet(np.full(targets, 2.0))
    if kind == "equal points":
        X[:] = 1.0
    elif kind == "one target":
        Y, b = Y[:1], np.ones(1)
    elif kind == "copied targets":
        Y = np.repeat(Y[:3], targets // 3, axis=0)
    elif kind == "nearly copied targets":
        Y = np.repeat(Y[:3], targets // 3, axis=0) + 1e-9 * rng.normal(size=Y.shape)
    elif kind == "far outliers":
        X[:3] *= 1e6
    elif kind == "huge":
        X, Y = 1e8 * X, 1e8 * Y
    elif kind == "far from the targets":
        X = X + 1e4
    elif kind == "uneven weights":
        a = rng.random(ROWS) ** 20
    elif kind == "one heavy point":
        a[0] = 1e6
    elif kind == "no weight":
        a[::2], b[::3] = 0.0, 0.0
    elif kind == "categories":
        X, Y = np.sign(X), np.sign(Y) + 0.1 * rng.normal(size=Y.shape)
    elif kind == "classes apart":
        X[: ROWS // 3] += 100.0
        Y[: targets // 2] += 100.0
    return X, Y, a / a.sum(), b / b.sum()


KINDS = [
    "plain",
    "equal points",
    "one target",
    "copied targets",
    "nearly copied targets",
    "far outliers",
    "huge",
    "far from the targets",
    "uneven weights",
    "one heavy point",
    "no weight",
    "categories",
    "classes apart",
]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**16), capped=st.booleans())
def test_plan_and_potentials_prove_how_near_to_the_optimum_the_cost_is(kind, seed, capped):
    X, Y, a, b = problem(kind, seed)
    costs = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
    cap = float(np.median(costs)) if capped else None
    costs = costs if cap is None else np.minimum(costs, cap)
    scale = costs.max()
    found, exact = (solve(X, Y, a, b, cap=cap, method=method) for method in ("semi-discrete", "exact"))
    np.testing.assert_allclose(np.bincount(found.source, found.mass, minlength=len(a)), a, atol=1e-12)
    np.testing.assert_allclose(np.bincount(found.target, found.mass, minlength=len(b)), b, atol=1e-12)
    assert (found.mass >= 0).all()
    f, g = found.source_potential, found.target_potential
    assert (f[:, None] + g[None] <= costs + 1e-12 * scale).all()
    assert a @ f == pytest.approx(b @ g, abs=1e-12 * scale)
    assert found.cost == pytest.approx(float(found.mass @ costs[found.source, found.target]), abs=1e-12 * scale)
    assert found.dual_value == pytest.approx(float(a @ f + b @ g), abs=1e-12 * scale)
    assert found.dual_value - 1e-12 * scale <= exact.cost <= found.cost + 1e-12 * scale
    assert 0.0 <= found.gap <= 1e-3 * found.cost + 1e-11 * scale


def test_the_gap_is_small_where_points_are_many():
    X, Y, _, b = problem("plain", 0, width=8, targets=30)
    found = solve(np.concatenate([X, X[::-1] + 0.01, 1.1 * X]), Y, None, b, method="semi-discrete")
    assert found.gap <= 1e-4 * found.cost


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**16))
def test_the_order_of_the_points_does_not_matter_and_nothing_is_left_to_chance(seed):
    X, Y, a, b = problem("uneven weights", seed)
    first, again = (solve(X, Y, a, b, method="semi-discrete") for _ in range(2))
    assert first.cost == again.cost
    np.testing.assert_array_equal(first.source_potential, again.source_potential)
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = solve(X[order], Y, a[order], b, method="semi-discrete")
    assert shuffled.cost == pytest.approx(first.cost, rel=1e-3)
    assert max(shuffled.dual_value, first.dual_value) <= min(shuffled.cost, first.cost) * (1 + 1e-12)


class Chunked:
    """A cloud whose chunks are smaller than those in memory."""

    def __init__(self, points, weights):
        self._points, self.weights = points, weights

    def chunks(self):
        yield from np.array_split(self._points, 7)


def test_a_cloud_in_chunks_gives_what_its_array_gives():
    X, Y, a, b = problem("plain", 1)
    inside, chunked = (
        solve(cloud, Y, None, b, method="semi-discrete") for cloud in (CloudInMemory(X, a), Chunked(X, a))
    )
    assert chunked.cost == pytest.approx(inside.cost, rel=1e-6)
    assert solve(Chunked(X, a), Y, None, b).cost == pytest.approx(solve(X, Y, a, b).cost, rel=1e-12)


def test_many_points_and_few_targets_choose_the_solver(monkeypatch):
    X, Y, a, b = problem("plain", 2)
    assert solve(X, Y, a, b).method == "exact"
    monkeypatch.setattr(sys.modules["fedbary.transport.solve"], "_MANY", ROWS)
    assert solve(X, Y, a, b).method == "semi-discrete"
    assert solve(X, Y, a, b, p=1).method == "exact"


def test_only_squared_distances_are_for_prices_of_targets():
    with pytest.raises(SettingsError, check=parameter("p")):
        solve(np.zeros((2, 2)), np.zeros((2, 2)), p=1, method="semi-discrete")
