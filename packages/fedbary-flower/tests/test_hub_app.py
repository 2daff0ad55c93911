"""The app beside this folder: its format is Flower Hub's, and it values, leaves out and trains whoever allows it."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

import fedbary as fb
from fedbary.guard.ledger import Ledger
from fedbary_flower.client_app import app as client_app
from fedbary_flower.server_app import app as server_app
from inprocess import InProcessGrid

APP = Path(__file__).parents[3] / "packages/fedbary-flower/app"
DIGITS = fb.datasets.load("digits")


def test_flwr_build_takes_it(tmp_path):
    copy = tmp_path / "app"
    copy.mkdir()
    for file in subprocess.run(["git", "ls-files"], cwd=APP, capture_output=True, text=True, check=True).stdout.split():
        (copy / file).parent.mkdir(exist_ok=True, parents=True)
        (copy / file).write_bytes((APP / file).read_bytes())
    command = [str(Path(sys.executable).parent / "flwr"), "build"]
    environment = os.environ | {"FLWR_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    (built,) = copy.glob("*.fab")
    assert done.returncode == 0, done.stdout + done.stderr
    assert built.stat().st_size < 10 * 2**20
    names = zipfile.ZipFile(built).namelist()
    assert {"pyproject.toml", "README.md", "LICENSE", "fedbary_app/client.py", "fedbary_app/server.py"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_format_is_the_current_one():
    project = tomllib.loads((APP / "pyproject.toml").read_text())
    assert project["project"]["license"] == {"file": "LICENSE"}
    assert (APP / "LICENSE").read_text() == (APP.parent / "LICENSE").read_text()
    assert any(dependency.startswith("flwr") for dependency in project["project"]["dependencies"])
    assert project["tool"]["flwr"]["app"]["fab-format-version"] == 1
    assert project["tool"]["flwr"]["app"]["flwr-version-target"]


@pytest.fixture
def owners(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    parts = fb.partitions.paper_case(DIGITS.train, 5, clients=3, rows=240, seed=1).clients
    configs = {}
    for number, (name, table) in enumerate(parts.items()):
        file = tmp_path / f"{name}.csv"
        table.to_frame().to_csv(file, index=False)
        configs[10 + number] = {"data-path": str(file), "name": name, "table": name, "report": False}
    DIGITS.test.take(range(200)).to_frame().to_csv(tmp_path / "reference.csv", index=False)
    return configs


def run(configs, tmp_path, **config):
    config = {"output": str(tmp_path / "out"), "num-nodes": len(configs), **config}
    server_app(InProcessGrid(client_app, configs), Context(1, 0, {}, RecordDict(), config))
    file = tmp_path / "out" / "training.json"
    return json.loads(file.read_text()) if file.is_file() else None


def test_valuing_alone_is_the_default_and_asks_nobody_to_train(owners, tmp_path):
    assert run(owners, tmp_path, reference=str(tmp_path / "reference.csv")) is None
    assert (tmp_path / "out" / "valuation.json").is_file()


def test_nobody_trains_whose_owner_did_not_say_so(owners, tmp_path):
    found = run(owners, tmp_path, reference=str(tmp_path / "reference.csv"), **{"train-rounds": 2})
    assert found["code"] == "engines.nobody-trains"
    lines = Ledger(tmp_path / "state" / "client_1" / "ledger.jsonl").read().entries
    assert [(line.what, line.kind) for line in lines[-1:]] == [("refusal", "train")]


def test_who_may_train_does_and_the_ledger_has_it(owners, tmp_path):
    for config in owners.values():
        config["train"] = True
    found = run(owners, tmp_path, reference=str(tmp_path / "reference.csv"), **{"train-rounds": 2})
    assert found["included"] > 0.5
    lines = Ledger(tmp_path / "state" / "client_1" / "ledger.jsonl").read().entries
    trained = [line for line in lines if line.kind == "train"]
    assert {line.what for line in trained} == {"reply"}
    assert trained[0].arrays["model"][0] == 10


def test_a_policy_that_wants_epsilon_lets_no_model_leave(owners, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("epsilon_budget = 10.0\n")
    for config in owners.values():
        config |= {"train": True, "policy": str(policy)}
    found = run(owners, tmp_path, reference=str(tmp_path / "reference.csv"), epsilon=8.0, **{"train-rounds": 1})
    assert found["code"] in ("engines.nobody-trains", "engines.nobody-chosen")
    for number in (1, 2, 3):
        lines = Ledger(tmp_path / "state" / f"client_{number}" / "ledger.jsonl").read().entries
        assert not [line for line in lines if line.kind == "train" and line.what == "reply"]


def test_a_text_in_the_node_config_is_no_consent(owners, tmp_path):
    for config in owners.values():
        config["train"] = "false"
    found = run(owners, tmp_path, reference=str(tmp_path / "reference.csv"), **{"train-rounds": 1})
    assert found["code"] == "engines.nobody-trains"


def test_a_simulation_values_and_trains(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    configs = {10 + number: {"partition-id": number, "num-partitions": 4} for number in range(4)}
    simulation = {"dataset": "digits", "partition": "case-5", "clients": 4, "rows": 60}
    found = run(configs, tmp_path, **simulation, **{"train-rounds": 3})
    assert found["included"] > 0.7
    assert 0 < found["all"] <= 1
