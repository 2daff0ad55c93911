"""Real simulations: Flower's own programs and Ray, started as a user starts them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fedbary as fb
from processes import free_ports

APP = Path(__file__).parents[3] / "packages/fedbary-flower/app"


def simulated(home, clients, config, seconds):
    """The result of a simulation."""
    port = free_ports(2)
    environment = os.environ | {
        "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(port),
        "FLWR_LOCAL_CONTROL_API_PORT": str(port + 1),
        "FLWR_HOME": str(home / "home"),
        "FEDBARY_STATE": str(home / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    federation = f"num-supernodes={clients} client-resources-num-cpus=1"
    config = f'dataset="digits" clients={clients} num-nodes={clients} seed=3 output="{home / "out"}" {config}'
    command = ["flwr", "run", str(APP), "--stream", "--federation-config", federation, "--run-config", config]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds, cwd=home, check=False
        )
        assert (home / "out" / "valuation.json").is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    finally:
        _stop(home)
    return fb.Valuation.load(home / "out")


def same(found, expected):
    ours, theirs = (result.clients.set_index("client").sort_index() for result in (found, expected))
    assert not found.failed
    for column in ("distance", "share", "quality"):
        np.testing.assert_allclose(ours[column], theirs[column], atol=1e-9, rtol=0)


@pytest.mark.federation
@pytest.mark.parametrize("protocol", ["sketch", "cards"])
def test_a_simulation_on_ray_gives_the_numbers_of_the_local_engine(tmp_path, protocol):
    found = simulated(tmp_path, 4, f'partition="case-5" rows=60 protocol="{protocol}"', 800)
    digits = fb.datasets.load("digits")
    tables = fb.partitions.paper_case(digits.train, 5, clients=4, rows=240, seed=3).clients
    reference = digits.test if protocol == "sketch" else None
    expected = fb.value(tables, reference, protocol=protocol, seed=3)
    assert sorted(found.clients["client"]) == sorted(tables)
    same(found, expected)
    assert len(list((tmp_path / "state").glob("partition-*/results/*/rows.csv"))) == 4


@pytest.mark.federation
@pytest.mark.timeout(1800)
def test_500_clients_on_ray_give_the_numbers_of_the_local_engine_and_leave_little_on_the_disk(tmp_path):
    options = 'partition="same" rows=2 protocol="sketch" min-group=1 support=20'
    found = simulated(tmp_path, 500, options, 1700)
    digits = fb.datasets.load("digits")
    tables = fb.partitions.by_size(digits.train, [2] * 500, seed=3).clients
    expected = fb.value(tables, digits.test, protocol=fb.Sketch(min_group=1, support=20), seed=3)
    # Nodes are numbered without leading zeros.
    named = {name: f"client_{number}" for number, name in enumerate(tables, start=1)}
    expected.clients["client"] = expected.clients["client"].map(named)
    same(found, expected)
    # Of what the nodes remembered little is left, and each owner's results are not large.
    assert bytes_of((tmp_path / "state").glob("*/runs/*/*")) < 500 * 4 * 1024
    assert bytes_of((tmp_path / "state").rglob("*")) < 500 * 128 * 1024


def bytes_of(files):
    return sum(file.stat().st_size for file in files if file.is_file())


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
