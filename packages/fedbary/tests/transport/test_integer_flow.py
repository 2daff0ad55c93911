"""The flow in whole numbers: its optimum is exact, whatever costs and masses, and one row moves it by what it may."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codes import coded
from fedbary.errors import TransportError
from fedbary.transport.simplex import integer_flow, whole_masses


def by_brute_force(costs, demands):
    """Rows of one unit each: try every assignment of rows to units of demand."""
    places = np.repeat(np.arange(len(demands)), demands)
    return min(sum(costs[row, place] for row, place in enumerate(order)) for order in itertools.permutations(places))


@given(st.integers(0, 100_000))
def test_it_is_the_least_of_all_plans(seed):
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, rng.choice([2, 5, 2**20]), size=(6, 4)).astype(float)
    demands = rng.multinomial(6, np.full(4, 0.25))
    assert integer_flow(costs, 1, demands.tolist()) == by_brute_force(costs, demands)


@given(st.integers(0, 100_000), st.integers(2, 60), st.integers(1, 12))
def test_a_row_moves_it_by_at_most_its_mass_times_the_largest_cost(seed, rows, points):
    rng = np.random.default_rng(seed)
    grid, supply = 2**20, int(rng.choice([1, 7, 1024]))
    costs = np.floor(grid * rng.random((rows, points)) ** rng.choice([0.05, 1.0, 20.0]))
    demands = whole_masses(rng.dirichlet(np.full(points, rng.choice([0.05, 5.0]))), rows * supply)
    other = costs.copy()
    other[rng.integers(rows)] = rng.choice([0.0, float(grid)], points)
    moved = integer_flow(costs, supply, demands) - integer_flow(other, supply, demands)
    assert abs(moved) <= grid * supply


@pytest.mark.parametrize("rows", [1, 500])
def test_the_bound_is_tight(rows):
    near, far = np.zeros((rows, 1)), np.zeros((rows, 1))
    far[0] = 2.0**20
    assert integer_flow(far, 1024, [1024 * rows]) - integer_flow(near, 1024, [1024 * rows]) == 2**30


def test_thousands_of_equal_and_of_different_rows_are_proved():
    rng = np.random.default_rng(0)
    for costs in (np.floor(2**20 * rng.random((2000, 40))), np.tile(np.floor(2**20 * rng.random(40)), (2000, 1))):
        demands = whole_masses(rng.dirichlet(np.ones(40)), 2000 * 1024)
        assert 0 < integer_flow(costs, 1024, demands) < 2**20 * 2000 * 1024


def test_what_is_not_proved_is_not_returned(monkeypatch):
    with pytest.raises(TransportError, check=coded("transport.flow-not-proved")):
        integer_flow(np.zeros((3, 2)), 1, [1, 1])  # a row too many
    swapped, nothing = np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2)
    monkeypatch.setattr("ot.lp.emd_wrap.emd_c", lambda *_: (swapped, 10.0, nothing, nothing, 1))
    with pytest.raises(TransportError, check=coded("transport.flow-not-proved")):
        integer_flow(np.array([[0.0, 5.0], [5.0, 0.0]]), 1, [1, 1])  # a plan, and not the best


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=40), st.integers(1, 2**32))
def test_masses_are_whole_sum_up_and_are_off_by_less_than_one(weights, total):
    masses = whole_masses(np.array(weights), total)
    assert sum(masses) == total
    exact = np.array(weights) / sum(weights) * total
    assert np.abs(np.array(masses) - exact).max() < 1 + 1e-6 * total / 2**20
