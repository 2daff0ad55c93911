"""The files of `fedbary federation init` really make a federation: a server, a node, an intruder, and a run."""

import json
import subprocess
from pathlib import Path

import pytest

from fedbary.cli import main
from fedbary_flower.status import status
from processes import eventually, free_ports, listens_at, ours, running

PROJECT = """\
[project]
name = "greeting"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []
[tool.flwr.app]
publisher = "fedbary"
[tool.flwr.app.components]
serverapp = "greeting.server_app:app"
clientapp = "greeting.client_app:app"
"""
CLIENT = """\
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()

@app.query()
def greet(message, context):
    return Message(RecordDict({"answer": ConfigRecord(dict(context.node_config))}), reply_to=message)
"""
SERVER = """\
from flwr.app import Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()

@app.main()
def main(grid, context):
    questions = [Message(RecordDict(), node, "query") for node in grid.get_node_ids()]
    for reply in grid.send_and_receive(questions, timeout=300):
        print("ANSWER", reply.content["answer"]["name"], reply.content["answer"]["data-path"])
"""


@pytest.fixture
def start(tmp_path):
    with running(tmp_path, strict=True) as run:
        yield run


@pytest.mark.federation
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at processes and ports as Linux shows them")
def test_a_federation_comes_up_lets_its_nodes_in_and_nobody_else(tmp_path, start, capsys):
    port = free_ports(3)
    folder = tmp_path / "fed"
    options = ["--nodes", "north,south", "--port", str(port), "--node-port", str(port + 1)]
    assert main(["federation", "init", str(folder), *options]) == 0

    _, server_log = start(folder / "server.sh")
    assert eventually(lambda: status(folder)["server"]["answers"]), server_log.read_text()
    assert [node["status"] for node in status(folder)["nodes"]] == ["not registered"] * 2
    register = subprocess.run([folder / "register.sh", "north"], capture_output=True, text=True, check=False)
    assert (register.returncode, register.stdout) == (0, "registered: north\n"), register.stderr

    data = tmp_path / "rows of north.csv"
    data.write_text("x,label\n1,a\n")
    intruder, intruder_log = start(folder / "nodes" / "south" / "node-south.sh", data)
    _, node_log = start(folder / "nodes" / "north" / "node-north.sh", data)
    assert eventually(lambda: status(folder)["nodes"][0]["status"] == "online"), node_log.read_text()
    assert eventually(lambda: "does not let this node in" in intruder_log.read_text()), intruder_log.read_text()
    assert "[code: 2004]" in intruder_log.read_text()
    assert intruder.poll() is None  # it may be registered later
    assert ours(tmp_path)
    assert (listens_at(port), listens_at(port + 1)) == (["0100007F"], ["0100007F"])

    capsys.readouterr()
    assert main(["federation", "status", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(node["name"], node["registered"], node["status"]) for node in found["nodes"]] == [
        ("north", True, "online"), ("south", False, "not registered"),
    ]  # fmt: skip
    assert found["server"] == {"answers": True, "problem": None}

    (tmp_path / "app" / "greeting").mkdir(parents=True)
    (tmp_path / "app" / "pyproject.toml").write_text(PROJECT)
    for name, text in (("__init__", ""), ("client_app", CLIENT), ("server_app", SERVER)):
        (tmp_path / "app" / "greeting" / f"{name}.py").write_text(text)
    run = subprocess.run(
        [folder / "run.sh", tmp_path / "app"], capture_output=True, text=True, timeout=600, check=False
    )
    assert f"ANSWER north {data}" in run.stdout, run.stdout + run.stderr
