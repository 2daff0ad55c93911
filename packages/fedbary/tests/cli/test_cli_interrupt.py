"""Ctrl-C: a real signal to a real process; what was done is kept, and the command that is printed goes on."""

from interrupting import BASE, federation, gone_on, interrupted

import fedbary as fb

__all__ = ["federation"]


def test_value_goes_on_from_its_last_round(federation):
    slow = ("--protocol", "interpolation", "--rounds", 60, "--tolerance", 0, "--workers", 1)
    checkpoint = federation / "out" / "checkpoint.npz"
    err = interrupted(("value", *BASE, *slow, "-o", "out"), federation, checkpoint.is_file)
    assert err.startswith("interrupted: the finished rounds are kept in out; go on with\n")
    assert err.rstrip().endswith("--resume")
    gone_on(err, federation)
    assert not checkpoint.exists()
    assert len(fb.Valuation.load(federation / "out").clients) == 4


def test_value_says_when_nothing_was_kept(federation):
    begun = (federation / "out" / "events.jsonl").is_file
    err = interrupted(("value", *BASE, "-o", "out"), federation, begun)
    assert err == "interrupted: no round was finished, nothing was kept\n" or "interrupted: nothing was kept" in err
