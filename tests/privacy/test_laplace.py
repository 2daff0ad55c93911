"""Discrete Laplace noise: exact on its grid, calibrated, and never from a seed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codes import coded, parameter
from fedbary.errors import PrivacyError, SettingsError
from fedbary.privacy.laplace import discrete_laplace, grid_scale, release


def test_the_noise_has_the_distribution_it_claims():
    scale = Fraction(5, 2)
    draws = np.array([discrete_laplace(scale) for _ in range(20_000)])
    ratio = float(np.exp(-1 / float(scale)))
    zero = (1 - ratio) / (1 + ratio)
    assert np.mean(draws == 0) == pytest.approx(zero, abs=0.015)
    assert np.mean(np.abs(draws) == 1) == pytest.approx(2 * zero * ratio, abs=0.015)
    assert abs(draws.mean()) < 0.15


def test_released_values_lie_on_the_grid_and_have_the_stated_scale():
    sensitivity, epsilon = 0.37, 0.5
    draws = np.array([release(1.0, sensitivity=sensitivity, epsilon=epsilon).value for _ in range(3000)])
    grid = sensitivity / 1024
    np.testing.assert_allclose(draws / grid, np.round(draws / grid), atol=1e-6)
    stated = release(1.0, sensitivity=sensitivity, epsilon=epsilon).scale
    assert stated == pytest.approx(sensitivity * 1025 / 1024 / epsilon)
    assert np.mean(np.abs(draws - 1.0)) == pytest.approx(stated, rel=0.1)


def test_the_noise_does_not_depend_on_a_seed():
    def draws():
        np.random.seed(0)
        return [discrete_laplace(Fraction(10**6)) for _ in range(5)]

    assert draws() != draws()


def test_impossible_releases_are_refused():
    for epsilon in (0.0, -1.0, 1e-7, float("nan"), float("inf")):
        with pytest.raises(SettingsError, check=parameter("epsilon")):
            release(1.0, sensitivity=1.0, epsilon=epsilon)
    for sensitivity in (0.0, float("nan"), float("inf")):
        with pytest.raises(PrivacyError, check=coded("protocols.no-sensitivity")):
            release(1.0, sensitivity=sensitivity, epsilon=1.0)


@given(st.floats(1e-5, 1e6))
@example(1.4e-5)  # the nearest fraction with a denominator under a million is larger
@example(1 / 3)
def test_the_noise_is_never_smaller_than_promised(epsilon):
    # Exactly: P(k) ∝ exp(−|k|/scale) for integers, the sensitivity being 1025 of them.
    assert 1025 / grid_scale(epsilon) <= Fraction(epsilon)
    assert release(1.0, sensitivity=0.37, epsilon=epsilon).scale == pytest.approx(0.37 * 1025 / 1024 / epsilon)
