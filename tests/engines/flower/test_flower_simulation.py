"""One real simulation: Flower's own programs and Ray, started as a user starts them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedbary as fb

APP = Path(__file__).parents[3] / "flower-app"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_a_simulation_on_ray_gives_the_numbers_of_the_local_engine(tmp_path, protocol):
    config = f'dataset="digits" partition="case-5" clients=4 rows=60 num-nodes=4 seed=3 output="{tmp_path / "out"}"'
    config += f' protocol="{protocol}"'
    environment = os.environ | {
        "FLWR_HOME": str(tmp_path / "home"),
        "FEDBARY_STATE": str(tmp_path / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    federation = "num-supernodes=4 client-resources-num-cpus=1"
    command = ["flwr", "run", str(APP), "--stream", "--federation-config", federation, "--run-config", config]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=170, cwd=tmp_path, check=False
        )
        assert (tmp_path / "out" / "valuation.json").is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    finally:
        _stop(tmp_path)
    found = fb.Valuation.load(tmp_path / "out")
    digits = fb.datasets.load("digits")
    tables = fb.partitions.paper_case(digits.train, 5, clients=4, rows=240, seed=3).clients
    expected = fb.value(tables, digits.test if protocol == "sketch" else None, seed=3)
    ours, theirs = (result.clients.set_index("client").sort_index() for result in (found, expected))
    assert ours.index.tolist() == theirs.index.tolist()
    for column in ("distance", "share", "quality"):
        np.testing.assert_allclose(ours[column], theirs[column], atol=1e-9, rtol=0)
    assert len(list((tmp_path / "state").glob("partition-*/results/*/rows.csv"))) == 4


def _stop(home):
    """End the SuperLink that `flwr run` leaves behind, and whatever it started: all know the run's folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                ours = f"FLWR_HOME={home / 'home'}".encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if ours:
                os.kill(int(entry.name), signal.SIGKILL)
