"""What a report says about the numbers of the sketch protocol, policy by policy."""

from dataclasses import asdict

import pytest

import fedbary as fb
from fedbary.views.report.learned import learned


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


def test_coalitions_say_what_groups_tell_and_without_a_reference_what_consensus_does():
    settings = {"protocol": "coalition", **asdict(fb.Coalition())}
    ridden = learned({**settings, "base_protocol": "sketch"})
    assert "up to 10 means of groups of at least 5 different rows" in " ".join(ridden.server)
    assert "not differentially private" in ridden.warnings[0]
    alone = learned({**settings, "base_protocol": "consensus"})
    assert alone == learned({"protocol": "consensus", **asdict(fb.Consensus())})
