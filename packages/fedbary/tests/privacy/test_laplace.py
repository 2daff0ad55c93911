"""Discrete Laplace noise: exact on the integers, calibrated, and never from a seed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codes import coded, parameter
from fedbary.errors import PrivacyError, SettingsError
from fedbary.privacy.noise import discrete_laplace, release


@pytest.mark.parametrize("scale", [1, 3, 40])
def test_the_noise_has_the_distribution_it_claims(scale):
    draws = np.array([discrete_laplace(scale) for _ in range(20_000)])
    ratio = float(np.exp(-1 / scale))
    zero = (1 - ratio) / (1 + ratio)
    assert np.mean(draws == 0) == pytest.approx(zero, abs=0.015)
    assert np.mean(np.abs(draws) == 1) == pytest.approx(2 * zero * ratio, abs=0.015)
    assert abs(draws.mean()) < 0.05 * scale + 0.02


def test_released_values_are_integers_with_the_stated_scale():
    made = [release(10**9, sensitivity=370, epsilon=0.5) for _ in range(3000)]
    assert all(type(one.value) is int for one in made)
    assert {one.scale for one in made} == {740}
    assert np.mean([abs(one.value - 10**9) for one in made]) == pytest.approx(740, rel=0.1)


def test_the_noise_does_not_depend_on_a_seed():
    def draws():
        np.random.seed(0)
        return [discrete_laplace(10**6) for _ in range(5)]

    assert draws() != draws()


def test_impossible_releases_are_refused():
    for epsilon in (0.0, -1.0, 1e-7, float("nan"), float("inf")):
        with pytest.raises(SettingsError, check=parameter("epsilon")):
            release(1, sensitivity=1, epsilon=epsilon)
    with pytest.raises(PrivacyError, check=coded("protocols.no-sensitivity")):
        release(1, sensitivity=0, epsilon=1.0)


@given(st.floats(1e-5, 1e6), st.integers(1, 2**40))
@example(1.4e-5, 2**20)  # the nearest fraction with a denominator under a million is larger
@example(1 / 3, 2**20)
def test_the_noise_is_never_smaller_than_promised(epsilon, sensitivity):
    # Exactly: P(k) ∝ exp(−|k|/scale) for integers.
    scale = release(1, sensitivity=sensitivity, epsilon=epsilon).scale
    assert Fraction(sensitivity, scale) <= Fraction(epsilon)
    assert scale - 1 < sensitivity / Fraction(epsilon)
