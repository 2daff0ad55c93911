"""Group testing: right within its errors, always efficient, negative where it should be."""

import numpy as np
import oracles
import pytest
from games_fixtures import SOLVED, limited, recorded

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.games import Game
from fedbary_lab.group_testing import group_testing_shapley


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", SOLVED)
def test_solved_games_are_estimated_within_their_errors(name, centred):
    solved = SOLVED[name]()
    found = group_testing_shapley(solved.game, seed=2, samples=6000, centred=centred, batch=1000)
    miss = np.abs(found.values - solved.values)
    assert (miss <= 4 * found.standard_errors + 1e-12).all()
    assert miss.max() <= 0.06 * max(1.0, np.abs(solved.values).sum())
    assert found.values.sum() == pytest.approx(solved.game.total)
    assert found.converged
    assert found.evaluations <= 2 ** len(solved.game)


@pytest.mark.parametrize("centred", [True, False])
def test_standard_errors_are_the_spread_over_seeds(centred):
    solved = oracles.airport([1.0, 2.0, 5.0, 8.0, 9.0])
    found = [group_testing_shapley(solved.game, seed=seed, samples=200, centred=centred) for seed in range(150)]
    spread = np.std([one.values for one in found], axis=0)
    np.testing.assert_allclose(np.mean([one.standard_errors for one in found], axis=0), spread, rtol=0.2)
    np.testing.assert_allclose(np.mean([one.values for one in found], axis=0), solved.values, atol=0.2)


def test_sizes_are_drawn_as_published_and_members_evenly():
    game, batches = recorded(lambda coalitions: coalitions.any(axis=1), 30)
    group_testing_shapley(game, seed=0, samples=4000, batch=4000)
    coalitions = batches[1]
    sizes = np.arange(1, 30)
    expected = 30 / (sizes * (30 - sizes))
    expected /= 2 * (1 / sizes).sum()
    assert expected.sum() == pytest.approx(1.0)
    # Coalitions of 1, 2, 28 or 29 are drawn more than once but computed once: compare the others.
    rare = (coalitions.sum(axis=1) > 3) & (coalitions.sum(axis=1) < 27)
    counts = np.bincount(coalitions[rare].sum(axis=1), minlength=30)[4:27]
    np.testing.assert_allclose(counts / 4000, expected[3:26], atol=0.008)
    np.testing.assert_allclose(coalitions[rare].mean(axis=0), 0.5, atol=0.05)


def test_batches_change_nothing():
    game = oracles.glove(4, 5).game
    found = [group_testing_shapley(game, seed=7, samples=300, batch=batch).values for batch in (1, 37, 300)]
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
    np.testing.assert_allclose(found[2], found[0], atol=1e-12)


def test_centring_helps_where_utilities_grow_with_the_coalition():
    game = oracles.additive(np.linspace(0.9, 1.1, 20)).game
    errors = [group_testing_shapley(game, seed=0, centred=centred).standard_errors.max() for centred in (True, False)]
    assert errors[0] < 0.1 * errors[1]


def test_a_target_error_ends_the_sampling():
    game = oracles.glove(2, 3).game
    found = group_testing_shapley(game, seed=0, samples=100_000, largest_error=0.02)
    assert found.converged
    assert 0.015 < found.standard_errors.max() <= 0.02
    missed = group_testing_shapley(game, seed=0, samples=100, largest_error=0.001)
    assert not missed.converged
    assert (missed.notes[0].code, missed.notes[0].facts["samples"]) == ("research.error-too-large", 100)


def test_a_budget_leaves_the_samples_that_were_paid_for():
    solved = oracles.additive(np.linspace(-1.0, 2.0, 30))
    found = group_testing_shapley(limited(solved, max_evaluations=500), seed=0, samples=5000)
    assert not found.converged
    assert found.evaluations == 500
    assert (np.abs(found.values - solved.values) <= 4 * found.standard_errors).all()
    assert (found.notes[-1].code, found.notes[-1].facts["samples"]) == ("research.fewer-samples", 5000)
    none = group_testing_shapley(limited(solved, max_evaluations=2), seed=0)
    np.testing.assert_allclose(none.values, 0.5)
    assert not none.converged


def test_a_budget_of_seconds_ends_the_sampling(clock):
    def slow(coalitions):
        clock.sleep(0.001 * len(coalitions))
        return coalitions @ np.arange(20.0)

    found = group_testing_shapley(Game([str(at) for at in range(20)], slow, max_seconds=0.1), seed=0, samples=10**6)
    assert not found.converged
    assert found.seconds < 0.2
    assert found.values.sum() == pytest.approx(190.0)


def test_bad_input_is_named():
    game = oracles.majority(3).game
    for wrong in ({"samples": 1}, {"batch": 0}, {"largest_error": 0.0}, {"seed": -1}):
        with pytest.raises(SettingsError, check=parameter(*wrong)):
            group_testing_shapley(game, **{"seed": 0, **wrong})
