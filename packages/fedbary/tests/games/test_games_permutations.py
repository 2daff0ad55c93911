"""Sampled permutations: right within their errors, efficient, and truncated without telling the cache lies."""

import numpy as np
import oracles
import pytest
from games_fixtures import SOLVED, limited, recorded
from hypothesis import given
from hypothesis import strategies as st

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.games import (
    Game,
    MaxPermutations,
    RelativeChange,
    StandardErrorBelow,
    exact_shapley,
    permutation_shapley,
)
from fedbary.notes import Note


@pytest.mark.parametrize("guided", [False, True], ids=["plain", "guided"])
@pytest.mark.parametrize("name", SOLVED)
def test_solved_games_are_estimated_within_their_errors(name, guided):
    solved = SOLVED[name]()
    found = permutation_shapley(solved.game, seed=1, guided=guided, stop=MaxPermutations(1500))
    miss = np.abs(found.values - solved.values)
    assert (miss <= 4 * found.standard_errors + 1e-12).all()
    assert miss.max() <= 0.06 * max(1.0, np.abs(solved.values).sum())
    assert found.values.sum() == pytest.approx(solved.game.total)
    assert found.permutations == 1500
    assert found.converged


@pytest.mark.parametrize("guided", [False, True], ids=["plain", "guided"])
def test_standard_errors_are_the_spread_over_seeds(guided):
    solved = oracles.weighted_sum([1.0, 1.0], [oracles.airport([1.0, 2.0, 5.0, 8.0]), oracles.glove(2, 2)])
    found = [permutation_shapley(solved.game, seed=s, guided=guided, stop=MaxPermutations(120)) for s in range(150)]
    spread = np.std([one.values for one in found], axis=0)
    np.testing.assert_allclose(np.mean([one.standard_errors for one in found], axis=0), spread, rtol=0.2)
    np.testing.assert_allclose(np.mean([one.values for one in found], axis=0), solved.values, atol=0.04)


def test_less_than_a_sweep_is_still_unbiased():
    """First players come in random order: otherwise two of four guided permutations would favour two players."""
    solved = oracles.symmetric([0.0, 1.0, 1.0, 1.0, 1.0])
    found = [permutation_shapley(solved.game, seed=s, guided=True, stop=MaxPermutations(2)) for s in range(800)]
    np.testing.assert_allclose(np.mean([one.values for one in found], axis=0), solved.values, atol=0.05)


def test_guided_sweeps_put_each_player_first_once():
    """Where the first player takes all, a sweep shares out equally, and the first batch is every player alone."""
    game, batches = recorded(lambda coalitions: coalitions.any(axis=1), 6)
    found = permutation_shapley(game, seed=0, guided=True, stop=MaxPermutations(12))
    np.testing.assert_allclose(found.values, 1 / 6)
    np.testing.assert_allclose(found.standard_errors, 0.0, atol=1e-12)
    assert {tuple(row) for row in batches[1]} == {tuple(row) for row in np.eye(6, dtype=bool)}


@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.5]), st.integers(1, 40))
def test_waves_change_nothing_but_the_stopping_point(seed, guided, truncation, wave):
    game = oracles.weighted_sum([1.0, 1.0], [oracles.airport([1.0, 2.0, 4.0, 5.0]), oracles.glove(1, 3)]).game
    kept = dict(seed=seed, guided=guided, truncation=truncation, stop=MaxPermutations(21))
    one, many = permutation_shapley(game, **kept, wave=1), permutation_shapley(game, **kept, wave=wave)
    np.testing.assert_allclose(many.values, one.values, atol=1e-14)
    np.testing.assert_allclose(many.standard_errors, one.standard_errors, atol=1e-14)
    assert many.permutations == one.permutations == 21


def test_each_step_of_a_wave_is_one_batch():
    game, batches = recorded(lambda coalitions: coalitions @ np.arange(40.0), 40)
    permutation_shapley(game, seed=0, stop=MaxPermutations(10), wave=10)
    assert len(batches) == 1 + 39
    assert max(len(batch) for batch in batches) == 10
    assert game.evaluations == sum(len(batch) for batch in batches)


@pytest.mark.parametrize("guided", [False, True])
def test_truncation_never_enters_the_cache_and_saves_evaluations(guided):
    """Two players of worth one and many of almost nothing: once the two are in, the rest is not computed."""
    solved = oracles.additive([1.0] * 2 + [2.0**-20] * 22)
    runs = {}
    for truncation in (0.0, 0.01):
        game = limited(solved)
        runs[truncation] = permutation_shapley(
            game, seed=3, truncation=truncation, guided=guided, stop=MaxPermutations(48)
        )
        known = game.known_coalitions()
        np.testing.assert_array_equal(game.known_values(known), solved.game.utility(known))
        assert len(known) == game.evaluations == runs[truncation].evaluations
    full, cut = runs.values()
    assert cut.evaluations < 0.85 * full.evaluations
    np.testing.assert_allclose(full.values, solved.values, atol=1e-12)
    np.testing.assert_allclose(cut.values, solved.values, atol=1e-5)
    assert abs(cut.values.sum() - solved.game.total) < 0.01


def test_after_a_truncated_run_exact_values_are_still_exact():
    solved = oracles.airport([1.0, 2.0, 4.0, 4.05])
    permutation_shapley(solved.game, seed=0, truncation=0.5, stop=MaxPermutations(20))
    np.testing.assert_allclose(exact_shapley(solved.game).values, solved.values, atol=1e-12)


def test_a_game_with_nothing_to_share_is_truncated_at_once():
    found = permutation_shapley(oracles.symmetric([0.5, 0.1, 0.5005]).game, seed=0, truncation=0.001)
    assert found.values.tolist() == [0.0, 0.0]
    assert found.evaluations == 2


def test_symmetric_players_agree_within_their_errors_and_dummies_get_nothing():
    solved = oracles.with_dummies(oracles.glove(3, 4), 2)
    found = permutation_shapley(solved.game, seed=5, stop=StandardErrorBelow(0.01))
    assert found.converged
    assert found.standard_errors.max() <= 0.01
    assert np.ptp(found.values[:3]) < 0.06
    assert np.ptp(found.values[3:7]) < 0.06
    assert found.values[7:].tolist() == [0.0, 0.0]


def test_a_limit_reached_before_the_values_are_steady_is_not_convergence():
    game = oracles.glove(5, 5).game
    cut = permutation_shapley(game, seed=0, stop=RelativeChange(1e-4) | MaxPermutations(50))
    assert (cut.converged, cut.permutations) == (False, 50)
    assert cut.notes == (Note("games.not-steady", {"permutations": 50}),)
    usual = permutation_shapley(game, seed=0)
    assert usual.converged
    assert 30 < usual.permutations < 1000


@pytest.mark.parametrize("guided", [False, True], ids=["plain", "guided"])
def test_a_budget_of_evaluations_leaves_the_completed_permutations(guided):
    solved = oracles.airport(np.arange(1.0, 31.0))
    found = permutation_shapley(limited(solved, max_evaluations=300), seed=0, guided=guided, stop=MaxPermutations(999))
    assert not found.converged
    assert found.evaluations == 300
    assert found.permutations >= 9
    assert found.values.sum() == pytest.approx(30.0)
    assert "max_evaluations=300" in found.notes[0].facts["limits"]


def test_a_budget_that_completes_no_permutation_leaves_a_fit():
    solved = oracles.airport(np.arange(1.0, 31.0))
    none = permutation_shapley(limited(solved, max_evaluations=2), seed=0)
    np.testing.assert_allclose(none.values, 1.0)
    some = permutation_shapley(limited(solved, max_evaluations=20), seed=0)
    assert some.values.sum() == pytest.approx(30.0)
    for found in (none, some):
        assert np.isnan(found.standard_errors).all()
        assert (found.converged, found.permutations) == (False, 0)
        assert found.notes[-1].code == "games.fitted"


def test_a_budget_of_seconds_leaves_the_completed_permutations(clock):
    def slow(coalitions):
        clock.sleep(0.001 * len(coalitions))
        return coalitions @ np.arange(12.0)

    game = Game([str(at) for at in range(12)], slow, max_seconds=0.15)
    found = permutation_shapley(game, seed=0, stop=MaxPermutations(10_000))
    assert not found.converged
    assert found.permutations >= 1
    assert found.seconds < 0.3
    np.testing.assert_allclose(found.values, np.arange(12.0))


def test_bad_input_is_named():
    game = oracles.majority(3).game
    with pytest.raises(SettingsError, check=parameter("truncation")):
        permutation_shapley(game, seed=0, truncation=-0.1)
    with pytest.raises(SettingsError, check=parameter("wave")):
        permutation_shapley(game, seed=0, wave=0)
    with pytest.raises(SettingsError, check=parameter("seed")):
        permutation_shapley(game, seed=None)
    with pytest.raises(SettingsError, check=parameter("stop")):
        permutation_shapley(game, seed=0, stop=100)
