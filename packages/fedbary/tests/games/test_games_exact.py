"""Exact Shapley values are those of the definition; so is the fit once everything is known."""

from itertools import permutations

import numpy as np
import oracles
import pytest
from games_fixtures import SOLVED, limited, table_game
from hypothesis import given
from hypothesis import strategies as st

from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary.games import Game, exact_shapley, fitted_values, leave_one_out
from fedbary.notes import Note

numbers = st.floats(-10, 10)
tables = st.integers(1, 5).flatmap(lambda players: st.lists(numbers, min_size=2**players, max_size=2**players))


def by_definition(game):
    """Mean marginal contribution over all permutations, one by one."""
    found, orders = np.zeros(len(game)), list(permutations(range(len(game))))
    for order in orders:
        members = np.zeros(len(game), dtype=bool)
        for player in order:
            before = members.copy()
            members[player] = True
            found[player] += np.diff(game.values(np.array([before, members])))[0]
    return found / len(orders)


@pytest.mark.parametrize("name", SOLVED)
def test_exact_values_of_solved_games(name):
    solved = SOLVED[name]()
    found = exact_shapley(solved.game)
    np.testing.assert_allclose(found.values, solved.values, atol=1e-12)
    assert found.values.sum() == pytest.approx(solved.game.total, abs=1e-12)
    assert found.converged
    assert (found.standard_errors == 0).all()
    assert found.evaluations == 2 ** len(solved.game)
    np.testing.assert_allclose(fitted_values(solved.game), solved.values, atol=1e-10)


@given(tables)
def test_exact_is_the_definition(table):
    game = table_game(table)
    np.testing.assert_allclose(exact_shapley(game).values, by_definition(game), atol=1e-12 * 1000)
    np.testing.assert_allclose(fitted_values(game), by_definition(game), atol=1e-9)


@given(st.lists(st.tuples(numbers, numbers), min_size=16, max_size=16), numbers, numbers)
def test_values_are_linear_in_the_game(pairs, a, b):
    first, second = np.array(pairs).T
    parts = a * exact_shapley(table_game(first)).values + b * exact_shapley(table_game(second)).values
    np.testing.assert_allclose(exact_shapley(table_game(a * first + b * second)).values, parts, atol=1e-11)


@given(st.lists(numbers, min_size=8, max_size=8), st.permutations(range(4)))
def test_renaming_players_renames_values_and_a_dummy_gets_nothing(table, order):
    """Three players from a table and one who adds nothing, then the same in another order."""
    plain = table_game(np.tile(table, 2))
    moved = Game(list("abcd"), lambda coalitions: plain.utility(coalitions[:, np.argsort(order)]))
    values = exact_shapley(plain).values
    assert abs(values[3]) < 1e-13
    np.testing.assert_allclose(exact_shapley(moved).values, values[list(order)], atol=1e-12)


def test_twins_are_worth_exactly_the_same():
    values = exact_shapley(oracles.airport([1.0, 3.0, 3.0, 7.0]).game).values
    assert values[1] == pytest.approx(values[2], abs=1e-15)
    np.testing.assert_allclose(np.ptp(exact_shapley(oracles.majority(7).game).values), 0.0, atol=1e-15)


def test_many_players_take_few_large_batches():
    batches = []

    def utility(coalitions):
        batches.append(len(coalitions))
        return coalitions.sum(axis=1)

    exact_shapley(Game([str(at) for at in range(12)], utility))
    assert batches == [4096]


def test_too_many_players_are_refused_with_the_way_out():
    game = oracles.majority(21).game
    with pytest.raises(SettingsError, check=coded("games.too-many-players")):
        exact_shapley(game)
    with pytest.raises(SettingsError, check=coded("games.too-many-players")):
        exact_shapley(oracles.majority(3).game, most_players=2)
    assert game.evaluations == 0


def test_known_coalitions_are_not_counted_again():
    game = oracles.majority(3).game
    assert game.total == 1.0
    assert exact_shapley(game).evaluations == 6
    assert exact_shapley(game).evaluations == 0


def test_out_of_budget_the_values_fit_what_is_known():
    solved = oracles.weighted_sum([1.0, 0.5], [oracles.airport(np.arange(1.0, 9.0)), oracles.glove(4, 4)])
    errors = []
    for budget in (2, 18, 150, 256):
        found = exact_shapley(limited(solved, max_evaluations=budget))
        assert found.converged == (budget == 256)
        assert found.evaluations == budget
        assert found.values.sum() == pytest.approx(solved.game.total)
        assert np.isnan(found.standard_errors).all() == (budget < 256)
        errors.append(np.abs(found.values - solved.values).max())
    np.testing.assert_allclose(exact_shapley(limited(solved, max_evaluations=2)).values, solved.game.total / 8)
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.2 * errors[0]


def test_without_both_ends_there_is_no_estimate_and_it_says_so():
    found = exact_shapley(Game(list("abc"), lambda coalitions: coalitions.sum(axis=1), max_evaluations=1))
    assert np.isnan(found.values).all()
    assert found.notes[-1].code == "games.no-estimate"


def test_leave_one_out_is_what_is_lost_without_the_player():
    solved = oracles.additive([1.0, -2.0, 0.5], base=3.0)
    found = leave_one_out(solved.game)
    np.testing.assert_allclose(found.values, solved.values)
    assert found.evaluations == 4
    assert (found.standard_errors == 0).all()
    assert leave_one_out(oracles.glove(1, 2).game).values.tolist() == [1, 0, 0]
    cut = leave_one_out(limited(solved, max_evaluations=3))
    np.testing.assert_allclose(cut.values, [1.0, -2.0, np.nan])
    np.testing.assert_array_equal(cut.standard_errors, [0.0, 0.0, np.nan])
    assert not cut.converged
    assert cut.notes[-1] == Note("games.unknown-values", {"unknown": 1, "players": 3})
    assert cut.values[0] == 1.0


def test_oracles_refuse_what_they_cannot_solve():
    with pytest.raises(SettingsError, check=parameter("costs")):
        oracles.airport([1.0, -1.0])
    with pytest.raises(SettingsError, check=parameter("left")):
        oracles.glove(0, 2)
    with pytest.raises(SettingsError, check=parameter("games")):
        oracles.weighted_sum([1.0, 1.0], [oracles.majority(2), oracles.majority(3)])
