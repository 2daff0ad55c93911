"""One real deployment on loopback: TLS, authenticated nodes with files of their own, two protocols, and kills.

Every message starts a process on each node, so there are as few as show the fact; in process all protocols run whole.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from processes import eventually, free_ports, running

import fedbary as fb
from fedbary.cli import main
from fedbary.deploy.status import status
from fedbary.guard.ledger import Ledger
from fedbary.valuation.outcome import Status

pytestmark = pytest.mark.timeout(240)

APP = Path(__file__).parents[3] / "flower-app"
NAMES = ("ann", "bob", "cyd")
CANARY = "canary-in-a-path"
GUARDED = 'protocols = ["sketch", "cards"]\nmax_questions = 2\n'
TRUSTING = 'protocols = ["interpolation"]\ntrust_server = true\nmax_questions = 2\n'


@dataclass
class Federation:
    """A server and three nodes, each with its own Parquet file and policy."""

    home: Path
    start: Callable
    programs: dict = field(default_factory=dict)

    @property
    def folder(self):
        return self.home / "fed"

    def start_server(self):
        self.programs["server"], _ = self.start(self.folder / "server.sh")
        assert eventually(lambda: status(self.folder)["server"]["answers"], 60)

    def start_node(self, name):
        script = self.folder / "nodes" / name / f"node-{name}.sh"
        data, policy = self.home / CANARY / f"{name}.parquet", self.home / "policy.toml"
        self.programs[name], _ = self.start(script, data, 'label="label"', f'policy="{policy}"')

    def wait_for_nodes(self):
        assert eventually(lambda: [n["status"] for n in status(self.folder)["nodes"]] == ["online"] * 3, 90)

    def kill(self, name):
        """Without a word, and everything that it started."""
        for pid in descendants(self.programs[name].pid):
            os.kill(pid, signal.SIGKILL)
        self.programs[name].wait(10)


def descendants(pid):
    children = [
        int(child) for file in Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()
    ]
    return [pid, *(found for child in children for found in descendants(child))]


@pytest.fixture(scope="module")
def federation(tmp_path_factory, digits):
    home = tmp_path_factory.mktemp("federation")
    *parts, reference = fb.partitions.by_size(digits, [120, 120, 120, 400], seed=1).clients.values()
    port = free_ports(4)
    options = ["--nodes", ",".join(NAMES), "--port", str(port), "--node-port", str(port + 1)]
    assert main(["federation", "init", str(home / "fed"), *options]) == 0
    (home / "policy.toml").write_text(GUARDED)
    to_parquet(reference, home / "reference.parquet")
    (home / CANARY).mkdir()
    for name, table in zip(NAMES, parts, strict=True):
        to_parquet(table, home / CANARY / f"{name}.parquet")
    with running(home) as start:
        made = Federation(home, start)
        made.start_server()
        subprocess.run([made.folder / "register.sh"], check=True, capture_output=True, timeout=60)
        for name in NAMES:
            made.start_node(name)
        made.wait_for_nodes()
        yield made


def to_parquet(table, file):
    pixels = {f"x{i}": column for i, column in enumerate(table.columns["x"].T)}
    frame = pd.DataFrame({**pixels, "label": table.labels})
    frame.to_parquet(file)


def command(folder, output, config):
    return [folder / "run.sh", APP, "--run-config", f'output="{output}" label="label" num-nodes=3 {config}']


def run(folder, output, config):
    done = subprocess.run(command(folder, output, config), capture_output=True, text=True, timeout=200, check=False)
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
    home, folder = federation.home, federation.folder
    found, done = run(folder, home / "sketch", f'reference="{home / "reference.parquet"}" policy="coarsen"')
    clients, reference = read(home)
    same(found, fb.value(clients, reference, protocol=fb.Sketch(policy="coarsen"), seed=0), ["distance", "quality"])
    for name in NAMES:
        kept = folder / "nodes" / name
        assert eventually(lambda kept=kept: list(kept.glob("results/*/report.html")), 60)  # after the reply has left
        (rows,) = kept.glob("results/*/rows.parquet")
        assert len(pd.read_parquet(rows)) == 120
        ledger = Ledger(kept / "state" / name / "ledger.jsonl")
        assert [entry.what for entry in ledger.read(head_needed=True).entries] == ["question", "reply"]
    seen = [done.stdout.encode(), *(f.read_bytes() for f in (home / "sketch").rglob("*") if f.is_file())]
    seen += [file.read_bytes() for file in (folder / "server").rglob("*") if file.is_file()]
    seen.append((home / "log-0.txt").read_bytes())  # the server's own log
    assert CANARY.encode() not in b"".join(seen)


def test_cards_give_the_numbers_of_the_local_engine_and_leave_no_row(federation):
    home, folder = federation.home, federation.folder
    found, done = run(folder, home / "cards", "")
    clients, _ = read(home)
    expected = fb.value(clients, protocol=fb.Cards(policy="guarded"), seed=0)
    same(found, expected, ["distance", "share", "quality", "wrong_labels"])
    for name in NAMES:
        entries = Ledger(folder / "nodes" / name / "state" / name / "ledger.jsonl").read().entries
        assert [(entry.what, entry.kind) for entry in entries if entry.kind != "sketch"] == [
            ("question", "card"), ("reply", "card"), ("reply", "fit"), ("reply", "model")
        ]  # fmt: skip
    told = [done.stdout.encode(), *(f.read_bytes() for f in (home / "cards").rglob("*") if f.is_file())]
    assert CANARY.encode() not in b"".join(told)


def events(output, kind):
    """What was asked in the events of a kind so far."""
    file = output / "events.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.is_file() else []
    return [event.get("asked") for event in map(json.loads, lines) if event["kind"] == kind]


# Without a reference the nodes describe their columns first, then start, then step: a run of three messages.
BRIEF = 'protocol="interpolation" rounds=1 t=0.5'


@pytest.fixture
def trusting(federation):
    """The owners trust the server, which may fix t; a node reads its policy for every message."""
    (federation.home / "policy.toml").write_text(TRUSTING)
    yield federation
    (federation.home / "policy.toml").write_text(GUARDED)


def test_a_killed_server_is_started_again_and_the_run_goes_on_to_the_same_numbers(trusting):
    federation = trusting
    home, folder, output = federation.home, federation.folder, federation.home / "resumed"
    with (home / "run-until-killed.txt").open("w") as log:
        first = subprocess.Popen(command(folder, output, BRIEF), stdout=log, stderr=subprocess.STDOUT)
        try:
            assert eventually(lambda: len(events(output, "round-finished")) >= 2, 120)
            assert (output / "checkpoint.npz").is_file()
            federation.kill("server")
            first.wait(30)
        finally:
            first.kill()
            first.wait()
    assert not (output / "valuation.json").exists()
    federation.start_server()
    # The nodes were not touched: they come back by themselves.
    federation.wait_for_nodes()
    found, _ = run(folder, output, f"{BRIEF} resume=true")
    assert len(events(output, "run-started")) == 2
    assert events(output, "round-started").count("describe") == 1
    clients, _ = read(home)
    same(found, fb.value(clients, protocol=fb.Interpolation(rounds=1, t=0.5), seed=0), ["distance", "share"])
    assert not found.failed
    assert not (output / "checkpoint.npz").exists()


def test_a_node_killed_in_the_middle_of_a_run_is_named_and_the_others_are_valued(trusting):
    federation = trusting
    home, folder, output = federation.home, federation.folder, federation.home / "deserted"
    with (home / "run-deserted.txt").open("w") as log:
        asked = command(folder, output, f"{BRIEF} timeout=40.0 retries=0")
        process = subprocess.Popen(asked, stdout=log, stderr=subprocess.STDOUT)
        try:
            assert eventually(lambda: events(output, "round-finished"), 90)
            federation.kill("cyd")
            process.wait(180)
        finally:
            process.kill()
            process.wait()
    federation.start_node("cyd")
    found = fb.Valuation.load(output)
    assert list(found.failed) == ["cyd"]
    assert found.outcomes["cyd"].status is Status.SILENT
    assert found.outcomes["cyd"].notes[0].code in ("engines.no-answer", "engines.node-unreachable")
    valued = found.clients.set_index("client").loc[["ann", "bob"]]
    assert np.isfinite(valued["distance"]).all()
    assert valued["share"].sum() == pytest.approx(1.0)
    federation.wait_for_nodes()


def test_a_killed_node_is_named_and_the_others_are_valued(federation):
    home, folder = federation.home, federation.folder
    federation.kill("cyd")
    reference = home / "reference.parquet"
    found, _ = run(
        folder, home / "two", f'reference="{reference}" timeout=20.0 retries=0 join-deadline=5.0 min-nodes=2'
    )
    named = set(found.clients["client"]) - set(found.failed)
    assert named == {"ann", "bob"}
    assert found.failed or any(note.code == "engines.absent-nodes" for note in found.notes)
