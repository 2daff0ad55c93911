"""What trials prove: intervals that cover, and an ε that is never claimed too large."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fedbary.auditing.finding import clopper_pearson, least_epsilon, threshold_at
from fedbary.auditing.game import Played


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_clopper_and_pearsons(counts):
    successes, trials = counts
    known = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(clopper_pearson(successes, trials), (known.low, known.high), atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_never_said_to_leak_more_than_it_does(epsilon):
    """Its ε is exact, so a bound at 95 % may exceed it one time in twenty at most; here the tight attack plays."""
    rng, trials = np.random.default_rng(0), 1000
    truth = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    bounds = [least_epsilon(rng.binomial(trials, truth), rng.binomial(trials, 1 - truth), trials) for _ in range(200)]
    assert np.mean(np.array(bounds) > epsilon) <= 0.05
    assert np.median(bounds) > 0.5 * epsilon - 0.1


def laplace_answers(epsilon, trials, rng):
    """Two numbers with half of ε each, for two tables whose sums differ by their whole sensitivity."""
    noise = lambda: rng.laplace(scale=2.0 / epsilon, size=(trials, 2))  # noqa: E731
    first, second = noise(), noise() - 1.0
    return Played(*(np.column_stack([seen, seen.max(axis=1)]) for seen in (first, second)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_best_attack_on_laplace_noise_reaches_its_limits_and_not_more(epsilon):
    played = laplace_answers(epsilon, 40_000, np.random.default_rng(0))
    found = played.true_positives()
    assert found.low <= math.exp(epsilon) * found.false_positives
    assert found.value == pytest.approx(0.01 * math.exp(epsilon), rel=0.3)
    shown = played.epsilon()
    assert 0.6 * epsilon < shown.low < epsilon
    guessed = played.right_guesses()
    assert 0.5 < guessed.low < 1.0 / (1.0 + math.exp(-epsilon))


def test_noise_that_is_a_quarter_of_what_is_claimed_is_caught():
    assert laplace_answers(4.0, 400, np.random.default_rng(0)).epsilon().proved > 1.0


def test_worlds_that_look_alike_are_guessed_like_a_coin():
    rng = np.random.default_rng(0)
    for seen in (np.ones((200, 3)), rng.normal(size=(200, 3))):
        played = Played(seen, rng.permutation(seen))
        assert played.right_guesses().low <= 0.5 <= played.right_guesses().high
        assert played.epsilon().low <= 0.3


def test_worlds_that_differ_are_told_apart():
    played = Played(np.zeros((100, 1)), np.ones((100, 1)))
    assert (played.right_guesses().value, played.true_positives().value) == (1.0, 1.0)
    assert played.epsilon().low > 2.5


@given(st.integers(99, 400), st.integers(0, 1000))
def test_one_in_a_hundred_exceeds_the_threshold(size, seed):
    scores = np.random.default_rng(seed).normal(size=size)
    assert ((scores > threshold_at(scores)).sum() + 1) / (size + 1) <= 0.01
