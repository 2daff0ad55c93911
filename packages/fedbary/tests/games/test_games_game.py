"""A game computes each coalition once, counts it, and stops at its budget without wasting anything."""

import numpy as np
import pytest
from games_fixtures import recorded

from codes import coded, parameter
from fedbary.errors import FedbaryError, SettingsError
from fedbary.games import BudgetSpent, Game, exact_shapley


def size(coalitions):
    return coalitions.sum(axis=1)


def test_duplicates_and_known_coalitions_are_computed_once():
    game, batches = recorded(size, 3)
    a, b, c = np.array([[True, False, False], [True, True, False], [True, True, True]])
    assert game.values(np.array([b, a, b, b])).tolist() == [2, 1, 2, 2]
    assert game.values(np.array([c, a, c])).tolist() == [3, 1, 3]
    assert [len(batch) for batch in batches] == [2, 1]
    assert game.evaluations == 3
    assert game.values(np.zeros((0, 3), dtype=bool)).shape == (0,)


def test_a_function_of_names_makes_the_same_game():
    game = Game.of(["x", "y"], lambda names: 10.0 * ("x" in names) + len(names))
    assert (game.empty, game.grand, game.total) == (0.0, 12.0, 12.0)
    assert game.values(np.array([[True, False], [False, False]])).tolist() == [11.0, 0.0]
    assert game.evaluations == 3


def test_a_hundred_players_are_told_apart():
    game, _ = recorded(lambda coalitions: coalitions @ np.arange(100.0), 100)
    coalitions = np.random.default_rng(0).random((3000, 100)) < 0.5
    np.testing.assert_array_equal(game.values(coalitions), coalitions @ np.arange(100.0))
    known = game.known_coalitions()
    assert {row.tobytes() for row in known} == {row.tobytes() for row in coalitions}
    np.testing.assert_array_equal(game.known_values(known), known @ np.arange(100.0))


def test_only_what_was_computed_is_known():
    game, _ = recorded(size, 2)
    assert game.known_coalitions().shape == (0, 2)
    assert game.grand == 2.0
    assert np.isnan(game.known_values(np.array([[True, True], [True, False]]))).tolist() == [False, True]
    assert game.evaluations == 1


def test_what_still_fits_is_computed_before_the_budget_is_called_spent():
    game = Game(["a", "b", "c"], size, max_evaluations=3)
    with pytest.raises(BudgetSpent, check=coded("games.budget-spent")) as caught:
        game.values(np.eye(4, 3, dtype=bool))
    assert isinstance(caught.value, FedbaryError)
    assert game.evaluations == 3
    assert game.values(np.eye(3, dtype=bool)).tolist() == [1, 1, 1]
    with pytest.raises(BudgetSpent):
        _ = game.grand


def test_seconds_are_a_budget_too(clock):
    def slow(coalitions):
        clock.sleep(0.005 * len(coalitions))
        return size(coalitions)

    game = Game([str(at) for at in range(10)], slow, max_seconds=0.05)
    coalitions = np.random.default_rng(0).random((200, 10)) < 0.5
    with pytest.raises(BudgetSpent, check=coded("games.budget-spent")):
        game.values(coalitions)
    assert 0.05 <= game.spent.seconds < 0.15
    assert 1 < game.evaluations < 30
    assert np.isfinite(game.known_values(coalitions)).sum() >= game.evaluations


def test_a_budget_of_nothing_pays_for_nothing():
    for limits in ({"max_evaluations": 0}, {"max_seconds": 0}):
        with pytest.raises(BudgetSpent):
            _ = Game(["a"], size, **limits).grand


def test_a_utility_cannot_change_what_it_is_asked():
    def careless(coalitions):
        found = coalitions.sum(axis=1)
        coalitions[:] = False
        return found

    game, asked = Game(["a", "b"], careless), np.ones((1, 2), dtype=bool)
    assert game.values(asked).tolist() == [2]
    assert asked.all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_utility_that_is_not_finite_is_an_error_that_names_the_coalition(wrong):
    game = Game.of(["ann", "bob", "eve"], lambda names: wrong if names == {"ann", "eve"} else 0.0)
    with pytest.raises(SettingsError, check=coded("games.utility-not-finite")):
        game.values(np.array([[True, False, False], [True, False, True]]))
    with pytest.raises(SettingsError, check=coded("games.utility-not-finite")):
        _ = Game.of([f"player{at}" for at in range(20)], lambda _: wrong).grand
    with pytest.raises(SettingsError, check=coded("games.utility-not-finite")):
        _ = Game.of(["ann"], lambda _: wrong).empty


def test_bad_input_is_named():
    with pytest.raises(SettingsError, check=parameter("players")):
        Game(["a", "a"], size)
    with pytest.raises(SettingsError, check=parameter("players")):
        Game([], size)
    with pytest.raises(SettingsError, check=parameter("max_evaluations")):
        Game(["a"], size, max_evaluations=1.5)
    with pytest.raises(SettingsError, check=parameter("max_seconds")):
        Game(["a"], size, max_seconds=-1)
    with pytest.raises(SettingsError, check=parameter("coalitions")) as caught:
        Game(["a", "b"], size).values(np.ones((1, 2), dtype=np.int64))
    assert caught.value.private["got"] == "int64 of shape (1, 2)"
    with pytest.raises(SettingsError, check=parameter("coalitions")):
        Game(["a", "b"], size).values(np.ones((1, 3), dtype=bool))
    with pytest.raises(SettingsError, check=coded("games.utility-shape")):
        _ = Game(["a", "b"], lambda coalitions: 1.0).total


def test_a_quick_empty_coalition_does_not_promise_quick_others(clock):
    def utility(coalitions):
        clock.sleep(0.002 * int(coalitions.any(axis=1).sum()))
        return coalitions.sum(axis=1)

    game = Game([str(i) for i in range(14)], utility, max_seconds=0.02)
    assert not exact_shapley(game).converged
    assert game.evaluations < 100
