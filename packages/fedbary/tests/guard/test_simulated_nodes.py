"""What simulated nodes leave on the disk: row values of the last runs, and nothing of what the server sent."""

import secrets

import pytest

import fedbary as fb
from fedbary.data.atomic import read_arrays
from fedbary.engines.coordinator import RunConfig, valued
from fedbary.guard import node as node_module
from fedbary.guard import node_config as node_config_module
from fedbary.guard.node import Envelope, Question, answer
from fedbary.guard.node_config import NodeConfig
from fedbary.guard.owner_files import load_owner_view
from fedbary.protocols.messages import Reply
from fedbary.valuation.rows import RowRules
from memory_network import MemoryNetwork, simulated, simulation_config


def simulate(home, **config):
    run = RunConfig.of(simulation_config(home / "out", **config))
    options = {"patience": run.patience, "simulation": run.simulation}
    engine = MemoryNetwork(simulated(home / "state"), run.output, run.attendance, **options)
    return valued(engine, run), engine.session


@pytest.mark.parametrize("protocol", ["sketch", "cards", "interpolation"])
def test_a_run_that_is_over_leaves_its_last_answer_and_all_row_values(tmp_path, protocol):
    found, session = simulate(tmp_path, protocol=protocol)
    assert not found.failed
    for home in (tmp_path / "state").iterdir():
        kept = read_arrays(home / "runs" / session / "state.npz")
        assert {name for name in kept if not name.startswith("array.")} == {"last", "over", "step"}
        results = home / "results" / session
        assert {file.name for file in results.iterdir()} == {"owner.json", "rows.csv", "rows.parquet"}
        assert len(load_owner_view(results).rows(f"client_{int(home.name[-1]) + 1}")) == 60


def test_only_the_last_runs_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(node_config_module, "_MOST_SIMULATED_RUNS", 2)
    sessions = [simulate(tmp_path, protocol="cards")[1] for _ in range(4)]
    for home in (tmp_path / "state").iterdir():
        for kind in ("runs", "results"):
            assert {folder.name for folder in (home / kind).iterdir()} == set(sessions[2:])


def test_nodes_share_the_disk(tmp_path, monkeypatch):
    """Runs that were broken off leave what the server sent, so that bytes are bounded besides runs."""
    monkeypatch.setattr(node_config_module, "_MOST_BYTES", 3000)
    home, sessions = tmp_path / "state", [secrets.token_hex(16) for _ in range(3)]
    config = NodeConfig.of({"partition-id": 0, "num-partitions": 3, "state-path": str(home)}, 7)
    asked = Question(fb.Cards(), RowRules(), {"dataset": "digits", "clients": 3, "rows": 60})
    server = fb.Cards().server(["me"], None, fb.Cards().space(None), rules=RowRules(), seed=0)
    message = server.tasks()["me"]
    for session in sessions:
        found, _ = answer(message, Envelope(session, message.kind, 0, 1, settings=asked.to_json()), config)
        assert isinstance(found, Reply)
    assert [folder.name for folder in (home / "partition-0" / "runs").iterdir()] == sessions[-1:]


def test_rows_that_cannot_be_kept_change_no_answer(tmp_path, monkeypatch):
    expected, _ = simulate(tmp_path / "one")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(node_module, "save_rows", full)
    found, _ = simulate(tmp_path / "two")
    assert found.clients["distance"].tolist() == expected.clients["distance"].tolist()
