"""A fixed budget of damaged questions, replies and files; ``python tools/fuzz.py --count 10000`` is the large one."""

import pytest

import fuzz


@pytest.mark.parametrize("target", sorted(fuzz.TARGETS))
def test_damage_is_used_or_refused_and_does_nothing_else(target):
    pytest.importorskip("flwr")
    report = fuzz.fuzz(target, 60)
    assert not report.failures, "\n".join(report.failures)
    assert report.counts[fuzz.REFUSED], "nothing was refused: the damage does not reach what it is meant for"
