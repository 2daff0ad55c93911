"""One real deployment on loopback: TLS, authenticated nodes with files of their own, two protocols, a killed node."""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import eventually, free_ports, running

import fedbary as fb
from fedbary.cli import main
from fedbary.engines.flower.setup import status
from fedbary.engines.ledger import Ledger

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("flower"), pytest.mark.timeout(240)]

APP = Path(__file__).parents[3] / "flower-app"
NAMES = ("ann", "bob", "cyd")
CANARY = "canary-in-a-path"


@pytest.fixture(scope="module")
def federation(tmp_path_factory, digits):
    """A server and three nodes, each with its own Parquet file and policy."""
    home = tmp_path_factory.mktemp("federation")
    *parts, reference = fb.partitions.by_size(digits, [120, 120, 120, 400], seed=0).clients.values()
    tables = dict(zip(NAMES, parts, strict=True))
    port = free_ports(4)
    folder = home / "fed"
    options = ["--nodes", ",".join(NAMES), "--port", str(port), "--node-port", str(port + 1)]
    assert main(["federation", "init", str(folder), *options]) == 0
    (home / "policy.toml").write_text('protocols = ["sketch", "consensus"]\nmax_rounds = 10\n')
    to_parquet(reference, home / "reference.parquet")
    (home / CANARY).mkdir()
    with running(home) as start:
        start(folder / "server.sh")
        assert eventually(lambda: status(folder)["server"]["answers"], 60)
        subprocess.run([folder / "register.sh"], check=True, capture_output=True, timeout=60)
        nodes = {}
        for name, table in tables.items():
            file = home / CANARY / f"{name}.parquet"
            to_parquet(table, file)
            script = folder / "nodes" / name / f"node-{name}.sh"
            nodes[name] = start(script, file, 'label="label"', f'policy="{home / "policy.toml"}"')
        assert eventually(lambda: [n["status"] for n in status(folder)["nodes"]] == ["online"] * 3, 60)
        yield home, folder, tables, reference, nodes


def to_parquet(table, file):
    pixels = {f"x{i}": column for i, column in enumerate(table.columns["x"].T)}
    frame = pd.DataFrame({**pixels, "label": table.labels})
    frame.to_parquet(file)


def run(folder, output, config):
    config = f'output="{output}" label="label" num-nodes=3 {config}'
    done = subprocess.run(
        [folder / "run.sh", APP, "--run-config", config], capture_output=True, text=True, timeout=200, check=False
    )
    assert (output / "valuation.json").is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    return fb.Valuation.load(output), done


def same(found, expected, columns):
    ours, theirs = (result.clients.set_index("client").sort_index() for result in (found, expected))
    assert ours.index.tolist() == theirs.index.tolist()
    for column in columns:
        np.testing.assert_allclose(ours[column], theirs[column], atol=1e-9, rtol=0)


def read(home):
    clients = {name: fb.read(home / CANARY / f"{name}.parquet", label="label") for name in NAMES}
    return clients, fb.read(home / "reference.parquet", label="label")


def test_the_sketch_protocol_gives_the_numbers_of_the_local_engine_and_keeps_rows_at_home(federation):
    home, folder, *_ = federation
    found, done = run(folder, home / "sketch", f'reference="{home / "reference.parquet"}"')
    clients, reference = read(home)
    # Owners answer guardedly, whatever the server asks for.
    same(found, fb.value(clients, reference, protocol=fb.Sketch(policy="coarsen"), seed=0), ["distance", "quality"])
    for name in NAMES:
        kept = folder / "nodes" / name
        (rows,) = kept.glob("results/*/rows.parquet")
        assert len(pd.read_parquet(rows)) == 120
        (ledger,) = kept.glob("state/node-*/ledger.jsonl")
        assert [entry.kind for entry in Ledger(ledger).read().entries] == ["sketch"]
    seen = [done.stdout.encode(), *(f.read_bytes() for f in (home / "sketch").rglob("*") if f.is_file())]
    seen += [file.read_bytes() for file in (folder / "server").rglob("*") if file.is_file()]
    seen.append((home / "log-0.txt").read_bytes())  # the server's own log
    assert CANARY.encode() not in b"".join(seen)


def test_consensus_gives_the_numbers_of_the_local_engine(federation):
    home, folder, *_ = federation
    found, _ = run(folder, home / "consensus", 'protocol="consensus" rounds=1 starts=1')
    clients, _ = read(home)
    same(found, fb.value(clients, protocol=fb.Consensus(rounds=1, starts=1), seed=0), ["distance", "share", "quality"])


def test_a_killed_node_is_named_and_the_others_are_valued(federation):
    home, folder, _, _, nodes = federation
    process, _ = nodes["cyd"]
    os.kill(process.pid, signal.SIGKILL)
    reference = home / "reference.parquet"
    found, _ = run(
        folder, home / "two", f'reference="{reference}" timeout=20.0 retries=0 join-deadline=5.0 min-nodes=2'
    )
    named = set(found.clients["client"]) - set(found.failed)
    assert named == {"ann", "bob"}
    assert found.failed or any("did not come in time" in note for note in found.notes)
