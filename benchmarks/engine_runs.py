"""One federation, carried by every engine that there is: what `benchmarks/engines.py` measures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fedbary as fb

ROOT = Path(__file__).parents[1]
# The grid in one process and the programs that tests start, too.
sys.path += [str(ROOT / "packages" / name / "tests") for name in ("fedbary", "fedbary-flower", "fedbary-nvflare")]

LABEL = "diagnosis"
COLUMNS = 8
POLICY = 'protocols = ["sketch", "cards"]\n'
# What an owner's default policy asks for; given to everybody, so that all engines are asked the same.
ASKED = {"sketch": "coarsen", "cards": "guarded"}


@dataclass(frozen=True)
class Case:
    """A folder with a file for each client and one of the reference, and the protocol that values them."""

    folder: Path
    protocol: str
    clients: int

    @property
    def names(self) -> list[str]:
        """The clients, in order."""
        return [f"site-{number}" for number in range(1, self.clients + 1)]

    @property
    def data(self) -> Path:
        """The clients' files."""
        return self.folder / "data"

    @property
    def reference(self) -> Path | None:
        """The server's file, where the protocol needs one."""
        return self.folder / "reference.parquet" if self.protocol == "sketch" else None

    @property
    def settings(self) -> fb.Sketch | fb.Cards:
        """The protocol as it is asked for."""
        return fb.Sketch(policy="coarsen") if self.protocol == "sketch" else fb.Cards(policy="guarded")

    def place(self, name: str) -> Path:
        """An empty folder for a run."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def config(self, output: Path) -> dict[str, object]:
        """The run config."""
        config = {"protocol": self.protocol, "policy": ASKED[self.protocol], "label": LABEL, "output": str(output)}
        return config | ({} if self.reference is None else {"reference": str(self.reference)})


@dataclass(frozen=True)
class Measured:
    """A result, the seconds that it took, and the bytes that travelled, where they can be counted."""

    result: fb.Valuation
    seconds: float
    bytes: int | None = None


def made(folder: Path, protocol: str, clients: int, rows: int, seed: int = 0) -> Case:
    """Made-up patients, two diagnoses and eight measurements, a tenth of the diagnoses wrong at every third site."""
    case = Case(folder, protocol, clients)
    case.data.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for number, name in enumerate([*case.names, "reference"]):
        ill = rng.random(400 if name == "reference" else rows) < 0.4
        frame = pd.DataFrame(
            rng.normal(size=(len(ill), COLUMNS)) + ill[:, None] * np.linspace(0, 2, COLUMNS),
            columns=[f"m{i}" for i in range(COLUMNS)],
        )
        wrong = rng.random(len(ill)) < (0.1 if number % 3 == 2 and name != "reference" else 0.0)
        frame[LABEL] = np.where(ill ^ wrong, "ill", "well")
        frame.to_parquet(folder / "reference.parquet" if name == "reference" else case.data / f"{name}.parquet")
    return case


def local(case: Case) -> Measured:
    """`fb.value` in this process."""
    tables = {name: fb.read(case.data / f"{name}.parquet", label=LABEL) for name in case.names}
    reference = None if case.reference is None else fb.read(case.reference, label=LABEL)
    started = time.perf_counter()
    result = fb.value(tables, reference, protocol=case.settings, seed=0)
    return Measured(result, time.perf_counter() - started, 0)


def files(case: Case) -> Measured:
    """Questions and answers as files, each carried at once; ``bytes`` is what all files hold."""
    from fedbary.engines.files.message_file import MessageFile, save_answer
    from fedbary.guard.node import answer
    from fedbary.guard.node_config import NodeConfig

    place = case.place("files")
    owners = {}
    for name in case.names:
        home = place / name
        owners[name] = NodeConfig(
            home / "state", home / "results", name, case.data / f"{name}.parquet", LABEL, report=False
        )
    reference = None if case.reference is None else fb.read(case.reference, label=LABEL)
    study, carried = place / "study", 0
    (study / "answers").mkdir(parents=True)
    started = time.perf_counter()
    while True:
        try:
            engine = fb.FilesEngine(study, clients=case.names)
            result = fb.value(None, reference, protocol=case.settings, engine=engine, seed=0)
            return Measured(result, time.perf_counter() - started, carried)
        except fb.Waiting:
            for question in study.glob("*.fb"):
                reply = study / "answers" / f"{question.stem}.answer"
                if not reply.exists():
                    name = "-".join(question.stem.split("-")[:2])  # site-7-2.fb is its second
                    message, envelope = MessageFile.load(question).message()
                    save_answer(*answer(message, envelope, owners[name]), reply)
                    carried += question.stat().st_size + reply.stat().st_size


def node_configs(case: Case, place: Path) -> dict[int, dict[str, object]]:
    """Configs of Flower nodes, each with a file of its own."""
    return {
        100 + number: {
            "data-path": str(case.data / f"{name}.parquet"),
            "label": LABEL,
            "name": name,
            "table": name,
            "state-path": str(place / "state"),
            "report": False,
        }
        for number, name in enumerate(case.names)
    }


def flower_in_process(case: Case, faults: dict[int, Callable] | None = None, **more: object) -> Measured:
    """Flower's apps and messages without its programs; ``bytes`` is what the records of all messages hold."""
    from inprocess import InProcessGrid

    class Counting(InProcessGrid):
        carried = 0

        def push_messages(self, messages):  # type: ignore[no-untyped-def]
            messages = list(messages)
            self.carried += sum(_size(message.content) for message in messages)
            return super().push_messages(messages)

    from fedbary.engines.coordinator import RunConfig
    from fedbary_flower.client_app import app
    from fedbary_flower.server_app import valued

    place = case.place("in-process")
    grid = Counting(app, node_configs(case, place), faults)
    config = {**case.config(place / "out"), "poll": 0.001, "timeout": 60.0, "settle": 0.0, **more}
    started = time.perf_counter()
    result = valued(grid, RunConfig.of(config))
    seconds = time.perf_counter() - started
    answers = sum(_size(reply.content) for reply in grid.received if reply.has_content())
    return Measured(result, seconds, grid.carried + answers)


def _size(content: Mapping[str, Any]) -> int:
    return sum(record.count_bytes() for record in content.values())


def flower_over_tls(case: Case) -> Measured:
    """A server and a node for each client as programs of their own; ``bytes`` went between nodes and server."""
    from fedbary.cli import main
    from fedbary_flower.status import status
    from flare_deployment import Relay
    from processes import eventually, free_ports, running

    place = case.place("tls")
    folder, port = place / "fed", free_ports(case.clients + 1)
    nodes = ["--nodes", ",".join(case.names), "--port", str(port), "--node-port", str(port + 1)]
    with redirect_stdout(StringIO()):  # what to type next
        assert main(["federation", "init", str(folder), *nodes]) == 0
    with running(place) as start:
        start(folder / "server.sh")
        assert eventually(lambda: status(folder)["server"]["answers"], 60)
        subprocess.run([folder / "register.sh"], check=True, capture_output=True, timeout=60 + 5 * case.clients)
        relay = Relay(port)
        for name in case.names:
            script = folder / "nodes" / name / f"node-{name}.sh"
            script.write_text(script.read_text().replace(f"127.0.0.1:{port}", f"127.0.0.1:{relay.port}"))
            start(script, case.data / f"{name}.parquet", f'label="{LABEL}"')
        assert eventually(lambda: {node["status"] for node in status(folder)["nodes"]} == {"online"}, 120)
        before = relay.bytes
        found = _by_flwr(case, place, [folder / "run.sh", ROOT / "packages/fedbary-flower/app"])
        relay.close()
        return replace(found, bytes=relay.bytes - before)


def flower_on_ray(case: Case) -> Measured:
    """Flower's simulation; every simulated node reads its own file."""
    from fedbary.engines.networked import renamed

    place = case.place("ray")
    app = place / "app"
    app.mkdir()
    for name, text in _APP.items():
        (app / name).write_text(text.replace("@data@", str(case.data)), encoding="utf-8")
    federation = f"num-supernodes={case.clients} client-resources-num-cpus=1"
    try:
        command: list[str | Path] = ["flwr", "run", app, "--stream", "--federation-config", federation]
        found = _by_flwr(case, place, command, {"num-nodes": case.clients})
        called = {f"client_{number}": name for number, name in enumerate(case.names, 1)}
        return replace(found, result=renamed(found.result, called))
    finally:
        from processes import ours

        for pid in ours(place / "home"):
            os.kill(pid, 9)


def flare_simulator(case: Case) -> Measured:
    """NVIDIA FLARE's simulator, a process for each site, which reads its own file."""
    place = case.place("flare")
    owner = place / "fedbary.toml"
    owner.write_text(_owners_file(case, place))
    script = f"""
from fedbary.nvflare import Simulator, recipe
recipe({case.config(place / "out")!r}, min_clients={case.clients}).execute(Simulator({case.clients}, {str(place)!r}))
"""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"FEDBARY_NODE": str(owner)},
        capture_output=True,
        text=True,
        cwd=place,
        check=False,
    )
    return _finished(place, done, started)


def flare_in_process(case: Case, faults: Mapping[str, Any] | None = None, **more: object) -> Measured:
    """FLARE's apps, proxies and packing without its programs; ``bytes`` is all that was packed."""
    from fedbary.nvflare import Coordinator, Site
    from flare_inprocess import Job

    place = case.place("flare-in-process")
    for name in case.names:
        (place / name / "local").mkdir(parents=True)
        (place / name / "local" / "fedbary.toml").write_text(_owners_file(case, place))
    job = Job(place, {name: (faults or {}).get(name) or Site() for name in case.names}, simulated=False)
    started = time.perf_counter()
    with redirect_stdout(StringIO()):  # the verdict
        job.run(Coordinator({**case.config(place / "out"), **more}))
    return Measured(fb.Valuation.load(place / "out"), time.perf_counter() - started, job.sent)


def _owners_file(case: Case, place: Path) -> str:
    own = {"data-path": f"{case.data}/{{site}}.parquet", "label": LABEL, "table": "{site}"}
    own |= {"state-path": str(place / "state")}
    return "report = false\n" + "".join(f'{key} = "{value}"\n' for key, value in own.items())


def flare_in_deployment(case: Case) -> Measured:
    """FLARE's provisioned kits with TLS, started as programs; ``bytes`` went between sites and server."""
    from flare_deployment import poc

    result, seconds, carried = poc(case.data, case.reference, case.protocol, label=LABEL, policy=ASKED[case.protocol])
    return Measured(result, seconds, carried)


def _by_flwr(case: Case, place: Path, command: list[str | Path], more: dict[str, object] | None = None) -> Measured:
    config = {**case.config(place / "out"), **(more or {})}
    text = " ".join(f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}" for key, value in config.items())
    environment = os.environ | {
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "FLWR_HOME": str(place / "home"),
        "FEDBARY_STATE": str(place / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    started = time.perf_counter()
    done = subprocess.run(
        [*command, "--run-config", text], env=environment, capture_output=True, text=True, cwd=place, check=False
    )
    return _finished(place, done, started)


def _finished(place: Path, done: subprocess.CompletedProcess[str], started: float) -> Measured:
    seconds = time.perf_counter() - started
    if not (place / "out" / "valuation.json").is_file():
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])
    return Measured(fb.Valuation.load(place / "out"), seconds)


_APP = {
    "pyproject.toml": """\
[project]
name = "measured"
version = "1.0.0"
dependencies = ["fedbary[flower]"]

[tool.flwr.app]
publisher = "fedbary"

[tool.flwr.app.components]
serverapp = "measured_server:app"
clientapp = "measured_client:app"

[tool.flwr.app.config]
protocol = ""
policy = ""
label = ""
output = ""
reference = ""
num-nodes = 0
timeout = 600.0
""",
    "measured_server.py": "from fedbary_flower import server_app\n\napp = server_app.app\n",
    "measured_client.py": """\
import fedbary as fb
import fedbary.flower
from flwr.clientapp import ClientApp

app = fedbary.flower.answers(
    ClientApp(), lambda context: fb.read(f"@data@/site-{context.node_config['partition-id'] + 1}.parquet", "diagnosis")
)
""",
}
