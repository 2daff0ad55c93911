"""A real signal to a real process, and the command that it prints."""

import os
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from cli_fixtures import FEDBARY

import fedbary as fb
from fedbary.data.export import write

BASE = ("sites", "--label", "label", "--reference", "reference.parquet")


@pytest.fixture
def federation(tmp_path):
    """Four clients with enough rows that a run takes a while."""
    beans = fb.datasets.load("digits").all()
    order = np.random.default_rng(0).permutation(len(beans))
    (tmp_path / "sites").mkdir()
    places = [*(f"sites/client_{i}" for i in range(4)), "reference", "test"]
    for place, rows in zip(places, np.array_split(order, len(places)), strict=True):
        write(beans.take(rows), tmp_path / f"{place}.parquet")
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
        deadline = time.monotonic() + 300
        while not when() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.poll() is None, "it was done before it could be interrupted"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of its processes
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, "Traceback" in err) == (130, "", False)
    return err


def gone_on(err, cwd):
    """Run the command that was printed."""
    command = shlex.split(err.splitlines()[-1])
    assert command[0].endswith("fedbary")
    done = subprocess.run([FEDBARY, *command[1:]], cwd=cwd, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done
