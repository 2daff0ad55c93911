"""`fedbary federation run` in a real federation: progress, exit codes, the absent, Ctrl-C; new nodes, new keys."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbary as fb
from fedbary.cli import main
from fedbary.engines.coordinator import read_outcome
from fedbary_flower.status import status
from processes import eventually, free_ports, running

pytestmark = [
    pytest.mark.federation,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at processes and ports as Linux shows them"),
]


@pytest.fixture
def start(tmp_path):
    with running(tmp_path) as run:
        yield run


def table(path, seed, rows=60):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.where(x[:, 0] + x[:, 1] > 0, "yes", "no"))
    frame.to_csv(path, index=False)
    return path


def state(folder, name):
    return next(node["status"] for node in status(folder)["nodes"] if node["name"] == name)


@pytest.fixture
def typed(capsys, monkeypatch):
    """`fedbary federation` as a user types it: its exit code, and what it printed."""
    monkeypatch.setenv("COLUMNS", "250")

    def run(command, folder, *words):
        capsys.readouterr()
        code = main(["federation", command, str(folder), *map(str, words)])
        return code, *capsys.readouterr()

    return run


def test_from_init_to_the_report_with_new_nodes_and_new_keys(tmp_path, start, typed):
    port, folder = free_ports(5), tmp_path / "fed"
    options = ["--nodes", "north,south", "--port", str(port), "--node-port", str(port + 1)]
    assert typed("init", folder, *options)[0] == 0
    reference = table(tmp_path / "reference.csv", 0, rows=120)
    out = tmp_path / "out"
    question = ["--reference", reference, "--label", "y", "--set", "join-deadline=4", "-o", out]

    code, _, errors = typed("run", folder, *question)
    assert (code, f"{folder}/server.sh" in errors) == (2, True)
    start(folder / "server.sh")
    assert eventually(lambda: status(folder)["server"]["answers"])
    code, _, errors = typed("run", folder, *question)
    assert (code, f"{folder}/register.sh" in errors) == (2, True)
    assert subprocess.run([folder / "register.sh"], check=False).returncode == 0

    def node(name, seed, home=None):
        home = home or folder / "nodes" / name
        return start(home / f"node-{name}.sh", table(tmp_path / f"{name}.csv", seed), 'label="y"')

    old, _ = node("north", 1)
    assert eventually(lambda: state(folder, "north") == "online")

    # One node is there, the other is named: before, while and after.
    code, words, errors = typed("run", folder, *question)
    assert code == 0, words + errors
    assert f"{folder}/nodes/south/node-south.sh DATA-FILE" in words
    assert "1 of 2 nodes have joined" in words
    assert "exchange 1: north answered, 1 of 1" in words
    assert "south did not come in time" in words
    assert f"{out}/report.html" in words
    result = fb.Valuation.load(out)
    assert result.settings["absent"] == ["south"]
    assert (out / "report.html").is_file()

    # A new node while the federation runs; the key of another is replaced, and the old one is of no use.
    assert typed("add-node", folder, "east")[0] == 0
    node("east", 3)
    stolen = shutil.copytree(folder / "nodes" / "north", tmp_path / "stolen")
    code, words, _ = typed("rotate-keys", folder, "north")
    assert (code, f"Send {folder}/nodes/north/key to north" in words) == (0, True)
    old.terminate()
    assert eventually(lambda: old.poll() is not None)
    thief, thief_log = node("north", 1, stolen)
    assert eventually(lambda: "2004" in thief_log.read_text()), thief_log.read_text()
    assert state(folder, "north") == "registered"
    thief.terminate()
    assert eventually(lambda: thief.poll() is not None)
    node("north", 1)
    assert eventually(lambda: (state(folder, "north"), state(folder, "east")) == ("online", "online"))
    assert typed("doctor", folder)[0] == 0

    # Two are asked by name; a run that is not waited for any more is stopped.
    running_command = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "fedbary",
            "federation",
            "run",
            folder,
            "--nodes",
            "south,east",
            *map(str, question),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert any("has begun" in line for line in iter(running_command.stdout.readline, ""))
    running_command.send_signal(signal.SIGINT)
    _, errors = running_command.communicate(timeout=300)
    assert (running_command.returncode, "is stopped" in errors) == (130, True), errors

    code, words, errors = typed("run", folder, *question, "--nodes", "north,east", "--json")
    assert code == 0, words + errors
    found = json.loads(words)
    assert {client["client"] for client in found["clients"]} == {"north", "east"}
    assert found["outcome"]["run"] == found["run"] == read_outcome(out).run

    # What the server refuses is said, with its exit code.
    code, _, errors = typed("run", folder, "--reference", reference, "--label", "z", "-o", out)
    assert code == 2
    assert "'z'" in errors
