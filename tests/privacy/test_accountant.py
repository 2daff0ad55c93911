"""What several answers cost together."""

import math

import pytest

from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary.privacy.accountant import composed

pytest.importorskip("dp_accounting")


@pytest.mark.parametrize("epsilons", [[], [1.0], [0.5, 0.25], [1.0, 1.0, 0.1]])
def test_a_vanishing_delta_gives_the_plain_sum(epsilons):
    assert composed(epsilons, 1e-15) == pytest.approx(sum(epsilons), abs=1e-3)


def test_many_small_answers_cost_less_than_their_sum_and_less_than_advanced_composition():
    each, times, delta = 0.1, 50, 1e-6
    advanced = each * math.sqrt(2 * times * math.log(1 / delta)) + times * each * math.expm1(each)
    assert composed([each] * times, delta) < min(advanced, each * times)


def test_more_answers_never_cost_less():
    costs = [composed([0.3] * times, 1e-6) for times in range(8)]
    assert costs == sorted(costs)


@pytest.mark.parametrize("delta", [0.0, -1.0, 1.0, math.nan])
def test_a_senseless_delta_is_named(delta):
    with pytest.raises(SettingsError, check=parameter("delta")):
        composed([1.0], delta)


def test_without_the_extra_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld.common", None)
    with pytest.raises(SettingsError, check=coded("settings.no-accountant")):
        composed([1.0], 1e-6)
