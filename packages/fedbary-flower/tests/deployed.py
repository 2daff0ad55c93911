"""A federation of real processes on loopback: TLS, and three authenticated nodes with files of their own."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import fedbary as fb
from fedbary.cli import main
from fedbary_flower.status import status
from processes import descendants, eventually, free_ports, running

APP = Path(__file__).parents[3] / "packages/fedbary-flower/app"
NAMES = ("ann", "bob", "cyd")
CANARY = "canary-in-a-path"


@dataclass
class Federation:
    """A server and three nodes, each with its own Parquet file; all owners have one policy, read for every message."""

    home: Path
    start: Callable
    programs: dict = field(default_factory=dict)
    logs: dict = field(default_factory=dict)

    @property
    def folder(self):
        return self.home / "fed"

    def start_server(self):
        self._start("server", self.folder / "server.sh")
        assert eventually(lambda: status(self.folder)["server"]["answers"], 300), self.said("server")

    def start_node(self, name, *prefix, environment=()):
        """As its owner does, after ``prefix``, a command that runs another one."""
        script = self.folder / "nodes" / name / f"node-{name}.sh"
        policy = self.home / "policy.toml"
        command = [*prefix, script, self.data(name), 'label="label"', f'policy="{policy}"']
        self._start(name, *command, environment=environment)

    def _start(self, name, *command, environment=()):
        self.programs[name], self.logs[name] = self.start(*command, environment=environment)

    def data(self, name):
        return self.home / CANARY / f"{name}.parquet"

    def said(self, name):
        """What a program printed so far."""
        return self.logs[name].read_text(errors="replace")

    def joined(self, name):
        """How often the server let the node in since its script was started."""
        return self.said(name).count("SuperNode ID:")

    def online(self):
        return [node["name"] for node in status(self.folder)["nodes"] if node["status"] == "online"]

    def wait_for_nodes(self, *names, seconds=300):
        wanted = names or NAMES
        assert eventually(lambda: set(wanted) <= set(self.online()), seconds), [self.said(name) for name in wanted]

    def kill(self, name):
        """Without a word, and everything that it started."""
        for pid in descendants(self.programs[name].pid):
            os.kill(pid, signal.SIGKILL)
        self.programs[name].wait(60)

    def kill_program(self, name):
        """Flower's program alone, which the start script has to notice."""
        os.kill(self.program(name), signal.SIGKILL)

    def program(self, name):
        """The process of Flower's program below a start script."""
        wanted = "flower-superlink" if name == "server" else "flower-supernode"
        found = [pid for pid in descendants(self.programs[name].pid) if wanted in command_of(pid)]
        return found[0]

    def stop(self, name):
        """As with Ctrl-C."""
        self.programs[name].terminate()
        assert self.programs[name].wait(300) == 0

    def read(self, names: Sequence[str] = NAMES):
        """The tables of clients by name, and the reference."""
        clients = {name: fb.read(self.data(name), label="label") for name in names}
        return clients, fb.read(self.home / "reference.parquet", label="label")

    def command(self, output, config):
        chosen = config if "nodes=" in config else f"num-nodes=3 {config}"
        return [self.folder / "run.sh", APP, "--run-config", f'output="{output}" label="label" {chosen}']

    @contextmanager
    def running(self, output, config) -> Iterator[subprocess.Popen]:
        """A run that is under way; ended with the block."""
        with (self.home / f"run-{output.name}.txt").open("a") as log:
            process = subprocess.Popen(self.command(output, config), stdout=log, stderr=subprocess.STDOUT)
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    def run(self, output, config, seconds=400):
        """A run to its end: the result, and what was printed."""
        with self.running(output, config) as process:
            process.wait(seconds)
        said = (self.home / f"run-{output.name}.txt").read_text()
        assert (output / "valuation.json").is_file(), said[-3000:]
        return fb.Valuation.load(output), said


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def deployed(home: Path, digits, policy: str) -> Iterator[Federation]:
    """Server and nodes up and running; all gone when the block has ended."""
    *parts, reference = fb.partitions.by_size(digits, [120, 120, 120, 400], seed=1).clients.values()
    port = free_ports(4)
    options = ["--nodes", ",".join(NAMES), "--port", str(port), "--node-port", str(port + 1)]
    assert main(["federation", "init", str(home / "fed"), *options]) == 0
    (home / "policy.toml").write_text(policy)
    to_parquet(reference, home / "reference.parquet")
    (home / CANARY).mkdir()
    for name, table in zip(NAMES, parts, strict=True):
        to_parquet(table, home / CANARY / f"{name}.parquet")
    with running(home) as start:
        made = Federation(home, start)
        made.start_server()
        subprocess.run([made.folder / "register.sh"], check=True, capture_output=True, timeout=300)
        for name in NAMES:
            made.start_node(name)
        made.wait_for_nodes()
        yield made


def to_parquet(table, file):
    pixels = {f"x{i}": column for i, column in enumerate(table.columns["x"].T)}
    frame = pd.DataFrame({**pixels, "label": table.labels})
    frame.to_parquet(file)


def same(found, expected, columns):
    """The numbers of all clients that ``expected`` has; whoever is missing there has failed."""
    theirs = expected.clients.set_index("client").sort_index()
    ours = found.clients.set_index("client").loc[theirs.index]
    assert set(found.clients["client"]) - set(found.failed) == set(theirs.index)
    for column in columns:
        np.testing.assert_allclose(ours[column], theirs[column], atol=1e-9, rtol=0)


def events(output, kind):
    """What was asked in the events of a kind so far."""
    file = output / "events.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.is_file() else []
    return [event.get("asked") for event in map(json.loads, lines) if event["kind"] == kind]
