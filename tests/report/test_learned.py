"""What a report says about the numbers of the sketch protocol, policy by policy."""

from dataclasses import asdict

import pytest

import fedbary as fb
from fedbary.report.learned import learned


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (dict(), "could choose its sketch to read single rows"),
        (dict(policy="coarsen"), "a guard, not a proof"),
        (dict(epsilon=0.5), "0.5-differentially private, for the replacement of one row"),
        (dict(epsilon=0.5, max_sketches=3), "private for each of up to 3 different sketches"),
    ],
)
def test_the_warning_fits_the_policy(settings, said):
    (warning,) = learned({"protocol": "sketch", **asdict(fb.Sketch(**settings))}).warnings
    assert said in warning
