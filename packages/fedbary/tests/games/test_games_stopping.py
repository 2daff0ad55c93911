"""Stopping criteria see the marginal contributions so far and combine."""

import numpy as np
import pytest

from codes import parameter
from fedbary.errors import SettingsError
from fedbary.games import History, MaxPermutations, RelativeChange, StandardErrorBelow


def history(marginals, total=1.0, sweep=1):
    return History(np.asarray(marginals, dtype=float), total, sweep)


def test_running_means_are_means_of_all_permutations_up_to_each():
    marginals = np.random.default_rng(0).normal(size=(50, 3))
    expected = [marginals[:count].mean(axis=0) for count in range(46, 51)]
    np.testing.assert_allclose(history(marginals).running_means(5), expected)
    np.testing.assert_allclose(history(marginals).means, marginals.mean(axis=0))
    np.testing.assert_allclose(history(marginals[:3]).running_means(9)[0], marginals[0])
    assert np.isnan(history(np.empty((0, 3))).means).all()
    assert np.isnan(history(marginals[:1]).standard_errors).all()


def test_sweeps_are_the_units_of_standard_errors():
    marginals = np.random.default_rng(0).normal(size=(11, 2))
    sweeps = marginals[:9].reshape(3, 3, 2).mean(axis=1)
    np.testing.assert_allclose(history(marginals, sweep=3).standard_errors, sweeps.std(axis=0, ddof=1) / np.sqrt(3))
    permutations = marginals[:5].std(axis=0, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(history(marginals[:5], sweep=3).standard_errors, permutations)


def test_relative_change_waits_for_more_than_least_and_then_for_steady_means():
    stop = RelativeChange(0.05, window=10, least=30)
    assert not stop.met(history(np.ones((30, 2))))
    assert stop.met(history(np.ones((31, 2))))
    jump = np.ones((40, 2))
    jump[-1, 0] = 9.0  # moves one of two means from 1 to 1.2: a mean change of 1/12
    assert not stop.met(history(jump))
    assert RelativeChange(0.09).met(history(jump))
    assert stop.met(history(np.vstack([jump, np.ones((10, 2))])))
    assert stop.met(history(np.zeros((31, 2))))


def test_standard_error_below_is_absolute_or_a_part_of_the_total():
    seen = history(np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1)), total=10.0)
    assert seen.standard_errors.max() == pytest.approx(0.0503, abs=1e-4)
    assert StandardErrorBelow(0.051).met(seen)
    assert not StandardErrorBelow(0.05).met(seen)
    assert StandardErrorBelow(0.0051, relative=True).met(seen)
    assert not StandardErrorBelow(0.005, relative=True).met(seen)
    assert not StandardErrorBelow(1.0, least=101).met(seen)


def test_criteria_combine():
    few, many, steady = MaxPermutations(5), MaxPermutations(50), RelativeChange(least=10, window=2)
    ten, twenty, sixty = (history(np.ones((count, 2))) for count in (10, 20, 60))
    assert [(few | many).met(ten), (few & many).met(ten), (few & many).met(sixty)] == [True, False, True]
    assert [(steady & many).met(twenty), (steady & many).met(sixty)] == [False, True]
    assert [(steady | many).met(ten), (steady | many).met(twenty)] == [False, True]
    assert [(few | many).most, (few & many).most, (steady | many).most, (steady & many).most] == [5, 50, 50, None]
    assert (steady | few | many).most == 5


def test_only_measures_say_whether_values_are_settled():
    ten, twenty = (history(np.ones((count, 2))) for count in (10, 20))
    steady, limit = RelativeChange(least=10, window=2), MaxPermutations(5)
    assert limit.settled(ten) is None
    assert (limit & MaxPermutations(3)).settled(ten) is None
    assert (steady | limit).settled(ten) is False
    assert (steady | limit).settled(twenty) is True
    assert (StandardErrorBelow(0.1) & steady).settled(twenty) is False


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: MaxPermutations(0), "permutations"),
        (lambda: RelativeChange(-0.1), "tolerance"),
        (lambda: RelativeChange(window=1), "window"),
        (lambda: RelativeChange(least=0), "least"),
        (lambda: StandardErrorBelow(0.0), "limit"),
        (lambda: StandardErrorBelow(np.nan), "limit"),
        (lambda: StandardErrorBelow(True), "limit"),
        (lambda: StandardErrorBelow(0.1, least=1), "least"),
    ],
)
def test_bad_input_is_named(make, name):
    with pytest.raises(SettingsError, check=parameter(name)):
        make()
