"""What a report says about what left in the sketch and the cards protocol, policy by policy."""

from dataclasses import asdict

import pytest

import fedbary as fb
from fedbary.protocols.registry import learned


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(), "could choose its sketch to read single rows"),
        (dict(policy="coarsen"), "a guard, not a proof"),
        (dict(epsilon=0.5), "0.5-differentially private, for the replacement of one row"),
    ],
)
def test_the_warning_fits_the_policy(settings, said):
    (warning,) = learned({"protocol": "sketch", **asdict(fb.Sketch(**settings))}).warnings
    assert said in warning


def test_over_a_network_the_owners_policies_decide_what_the_server_s_own_setting_does_not_know():
    (warning,) = learned({"protocol": "sketch", **asdict(fb.Sketch()), "networked": True}).warnings
    assert "Unless its owner's policy trusts the server" in warning


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(), "policy = guarded leaves that out"),
        (dict(policy="guarded"), "a guard, not a proof"),
        (dict(epsilon=2.0), "(2, 1e-06)-differentially private, for the replacement of one row"),
    ],
)
def test_the_warning_of_cards_fits_the_policy_and_the_numbers_are_named_where_they_leave(settings, said):
    found = learned({"protocol": "cards", **asdict(fb.Cards(**settings))})
    assert said in found.warnings[0]
    assert any("wrong labels" in fact for fact in found.server) == ("epsilon" not in settings)
