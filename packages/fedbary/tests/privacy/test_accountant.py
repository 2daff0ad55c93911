"""What several answers cost together, and what Gaussian noise costs."""

import math

import pytest

from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary.privacy.noise import composed, largest_rho

pytest.importorskip("dp_accounting")


@pytest.mark.parametrize("epsilons", [[], [1.0], [0.5, 0.25], [1.0, 1.0, 0.1]])
def test_a_vanishing_delta_gives_the_plain_sum(epsilons):
    assert composed([(epsilon, 0.0) for epsilon in epsilons], 1e-15) == pytest.approx(sum(epsilons), abs=1e-3)


def test_many_small_answers_cost_less_than_their_sum_and_less_than_advanced_composition():
    each, times, delta = 0.1, 50, 1e-6
    advanced = each * math.sqrt(2 * times * math.log(1 / delta)) + times * each * math.expm1(each)
    assert composed([(each, 0.0)] * times, delta) < min(advanced, each * times)


def test_what_answers_may_fail_by_counts_too():
    card = (1.0, 1e-6)
    assert composed([card], 1e-6) == pytest.approx(1.0, abs=1e-3)
    assert composed([card, (0.5, 0.0)], 1e-6) <= 1.5
    assert composed([card, card], 2.5e-6) <= 2.0
    assert composed([card, card], 1e-6) == math.inf


def test_more_answers_never_cost_less():
    costs = [composed([(0.3, 0.0)] * times, 1e-6) for times in range(8)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.0, math.nan])
def test_a_senseless_delta_is_named(delta):
    with pytest.raises(SettingsError, check=parameter("delta")):
        composed([(1.0, 0.0)], delta)
    with pytest.raises(SettingsError, check=parameter("delta")):
        largest_rho(1.0, delta)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_a_senseless_epsilon_is_named(epsilon):
    with pytest.raises(SettingsError, check=parameter("epsilon")):
        largest_rho(epsilon, 1e-6)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 4.0, 16.0, 100.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_gaussian_noise_is_at_least_what_the_exact_mechanism_needs_and_at_most_what_the_plain_formula_asks_for(
    epsilon, delta
):
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    rho = largest_rho(epsilon, delta)
    plain = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert plain * (1 - 1e-6) <= rho  # ε = ρ + 2·√(ρ·ln(1/δ)), Bun & Steinke 2016
    needed = get_sigma_gaussian(epsilon, delta)
    assert needed <= 1 / math.sqrt(2 * rho)
    if 0.1 <= epsilon <= 16.0 and delta <= 1e-6:
        assert 1 / math.sqrt(2 * rho) <= 1.09 * needed


def test_more_epsilon_or_delta_means_less_noise():
    assert largest_rho(1.0, 1e-6) < largest_rho(1.1, 1e-6) < largest_rho(1.1, 1e-5)


def test_without_the_extra_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld.common", None)
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.rdp", None)
    with pytest.raises(SettingsError, check=coded("settings.no-accountant")):
        composed([(1.0, 0.0)], 1e-6)
    with pytest.raises(SettingsError, check=coded("settings.no-accountant")):
        largest_rho(1.0, 1e-6)
