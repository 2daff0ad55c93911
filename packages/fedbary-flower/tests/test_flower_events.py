"""What a Flower run tells a live view: nodes, answers by name as they come, distances, and why it stopped."""

import pytest
from flwr.app import Context, RecordDict

from codes import coded
from fedbary.engines.coordinator import RunConfig, RunStatus, read_outcome
from fedbary.engines.live import Watched
from fedbary.errors import ProtocolError, SettingsError
from fedbary_flower.client_app import app
from fedbary_flower.server_app import app as server_app
from fedbary_flower.server_app import valued
from inprocess import InProcessGrid, silent


def simulation(tmp_path, **more):
    nodes = {100 + i: {"partition-id": i, "num-partitions": 3, "state-path": str(tmp_path)} for i in range(3)}
    config = {"dataset": "digits", "partition": "case-5", "clients": 3, "rows": 60, "seed": 3, "poll": 0.001}
    return nodes, RunConfig.of(config | {"output": str(tmp_path / "out"), "timeout": 5.0, "retries": 0, **more})


def test_nodes_names_and_distances_reach_the_live_view(tmp_path):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=2, timeout=0.5)
    result = valued(InProcessGrid(app, nodes, {102: silent}), config)
    watched = Watched(tmp_path / "out")
    kinds = [entry.event.kind for entry in watched.look()]
    run = watched.run
    assert kinds[0] == "nodes-joined"
    assert kinds.count("distances") >= 2
    assert (run.standing, run.joined, run.wanted, run.total) == ("finished", 3, 3, 3)
    assert {name: client.state for name, client in run.clients.items()} == {
        "client_1": "answered", "client_2": "answered", "node-102": "failed",
    }  # fmt: skip
    assert run.failed == {"node-102": "no answer within 0.5 s"}
    shown = result.clients.set_index("client")["distance"].dropna().to_dict()
    assert {name: client.distance for name, client in run.clients.items() if client.distance} == pytest.approx(
        shown, rel=1e-5
    )


def test_too_few_nodes_are_an_end_that_a_watcher_sees(tmp_path):
    nodes, config = simulation(tmp_path, **{"num-nodes": 5, "join-deadline": 0.1})
    with pytest.raises(ProtocolError):
        valued(InProcessGrid(app, nodes), config)
    watched = Watched(tmp_path / "out")
    list(watched.look())
    assert watched.run.phase.startswith("stopped: 3 of 5 nodes came")


def test_everybody_whom_flower_knows_is_asked_and_names_of_registration_choose(tmp_path):
    registered = {100: "north", 101: "south", 102: "west"}
    nodes, everybody = simulation(tmp_path, clients="", settle=0.0)
    found = valued(InProcessGrid(app, nodes, registered=registered), everybody)
    assert found.settings["nodes"] == {"north": 100, "south": 101, "west": 102}
    some = {"nodes": "north,west,east", "join-deadline": 0.05}
    nodes, named = simulation(tmp_path, clients="", **some)
    found = valued(InProcessGrid(app, nodes, registered=registered), named)
    assert found.settings["nodes"] == {"north": 100, "west": 102}
    assert (found.settings["absent"], found.settings["left_out"]) == (["east"], ["south"])


def test_the_server_app_says_how_the_run_ended_and_which_it_was(tmp_path):
    nodes, run = simulation(tmp_path)
    config = {"dataset": "digits", "clients": 3, "rows": 60, "poll": 0.001, "timeout": 5.0, "output": str(run.output)}
    server_app(InProcessGrid(app, nodes), Context(71, 0, {}, RecordDict(), config))
    found = read_outcome(run.output)
    assert (found.status, found.exit_code, found.engine, found.run) == (RunStatus.DONE, 0, "flower", "71")
    with pytest.raises(SettingsError, check=coded("settings.no-protocol")):
        server_app(InProcessGrid(app, nodes), Context(72, 0, {}, RecordDict(), {**config, "protocol": "magic"}))
    found = read_outcome(run.output)
    assert (found.status, found.exit_code, found.run) == (RunStatus.REFUSED, 2, "72")
