"""Ctrl-C in the laboratory: what was done is kept, and the command that is printed goes on."""

from interrupting import BASE, federation, gone_on, interrupted

import fedbary as fb

__all__ = ["federation"]


def test_compare_keeps_finished_methods(federation):
    def done():
        return list(federation.glob("out/unfinished/*/sketch"))

    methods = ("--methods", "sketch,exactfed", "--rounds", 400)
    err = interrupted(("compare", *BASE, *methods, "-o", "out"), federation, done)
    assert "finished and kept in out: " in err
    assert "sketch" in err.splitlines()[0]
    kept = (done()[0] / "scores.json").read_bytes()
    gone_on(err.replace("exactfed", "cgsv"), federation)  # what is kept is used, whatever the other methods are
    assert (federation / "out/scores/sketch.json").read_bytes() == kept
    assert not (federation / "out" / "unfinished").exists()


def test_boost_keeps_its_valuation_and_models(federation):
    def done():
        return list(federation.glob("out/unfinished/*/none"))

    options = ("--test", "test.parquet", "--rounds", 150, "--how", "drop")
    err = interrupted(("boost", *BASE, *options, "-o", "out"), federation, done)
    assert err.startswith("interrupted: finished and kept in out: none, valuation; go on with\n")
    accuracy = float((done()[0] / "accuracy.txt").read_text())
    gone_on(err, federation)
    assert fb.Boost.load(federation / "out").outcomes["none"].accuracy == accuracy
    assert not (federation / "out" / "unfinished").exists()


def test_reproduce_keeps_its_cells(federation):
    def done():
        return list(federation.glob("fedbary-reproduce/accuracy-smoke/cells/*.json"))

    command = ("reproduce", "accuracy", "--smoke", "--workers", 2)
    err = interrupted(command, federation, done)
    assert "of 8 cells are kept in fedbary-reproduce/accuracy-smoke; go on with\n" in err
    assert gone_on(err, federation).stderr.count("was there") >= 1
