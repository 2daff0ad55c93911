"""Ctrl-C: a real signal to a real process; what was done is kept, and the command that is printed goes on."""

import os
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from cli_fixtures import FEDBARY

import fedbary as fb

BASE = ("sites", "--label", "label", "--reference", "reference.parquet")


@pytest.fixture
def federation(tmp_path):
    """Four clients with enough rows that a run takes a while."""
    beans = fb.datasets.load("digits").all()
    order = np.random.default_rng(0).permutation(len(beans))
    (tmp_path / "sites").mkdir()
    places = [*(f"sites/client_{i}" for i in range(4)), "reference", "test"]
    for place, rows in zip(places, np.array_split(order, len(places)), strict=True):
        fb.data.write(beans.take(rows), tmp_path / f"{place}.parquet")
    return tmp_path


def interrupted(arguments, cwd, when):
    """Start a command, press Ctrl-C once `when` is true, and return its exit code and what it said."""
    environment = os.environ | {"COLUMNS": "80"}
    with subprocess.Popen(
        [FEDBARY, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not when() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, "it was done before it could be interrupted"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of its processes
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, "Traceback" in err) == (130, "", False)
    return err


def gone_on(err, cwd):
    """Run the command that was printed."""
    command = shlex.split(err.splitlines()[-1])
    assert command[0].endswith("fedbary")
    done = subprocess.run([FEDBARY, *command[1:]], cwd=cwd, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    return done


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
    started = time.monotonic()
    err = interrupted(("value", *BASE), federation, lambda: time.monotonic() > started + 0.7)
    assert err == "interrupted: no round was finished, nothing was kept\n" or "interrupted: nothing was kept" in err


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
