"""Any client app answers a valuation by one line, behind its owner's policy, and the result chooses who trains."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import ProtocolError, SettingsError
from fedbary.flower import SelectedNodes, answers, value_nodes
from fedbary.guard.ledger import QUESTION, Ledger
from fedbary_flower.simulation import is_simulated_grid, is_simulated_node
from flower_training import InProcess, client_app, initial_model
from inprocess import InProcessGrid

DIGITS = fb.datasets.load("digits")
PARTS = fb.partitions.paper_case(DIGITS.train, 5, clients=4, rows=400, seed=1).clients
TABLES = list(PARTS.values())
NODES = {1000 + number: {"partition-id": number, "num-partitions": 4} for number in range(4)}


def loads(context):
    return TABLES[context.node_config["partition-id"]]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDBARY_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def simulated(monkeypatch):
    """As inside a worker of the simulation engine."""
    ray = SimpleNamespace(
        is_initialized=lambda: True,
        get_runtime_context=lambda: SimpleNamespace(
            get_actor_id=lambda: "af",
            get_task_function_name=lambda: "flwr.simulation.ray_transport.ray_actor.ClientAppActor.run",
        ),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)


def valued(app, reference=DIGITS.test, configs=NODES, **options):
    return value_nodes(InProcessGrid(app, configs), reference, progress=False, nodes=len(configs), **options)


def distances(result):
    return result.clients["distance"].tolist()


def test_a_node_of_a_deployment_answers_behind_the_default_policy_whatever_its_partition(state):
    found = valued(answers(ClientApp(), loads))
    expected = fb.value(PARTS, DIGITS.test, protocol=fb.Cards(policy="guarded"), seed=0)
    np.testing.assert_allclose(distances(found), distances(expected), atol=1e-9, rtol=0)
    for number in range(4):
        ledger = Ledger(state / f"loaded-{number}" / "ledger.jsonl")
        assert [entry.what for entry in ledger.read().entries] == ["question", *["reply"] * 4]


def test_a_second_question_is_refused_and_no_row_is_loaded_for_it(state):
    loaded = []

    def load(context):
        loaded.append(context.node_id)
        return loads(context)

    app = answers(ClientApp(), load)
    valued(app, protocol="sketch")
    before = len(loaded)
    again = valued(app, DIGITS.test.take(range(150)), protocol="sketch")
    assert {outcome.notes[0].code for outcome in again.outcomes.values()} == {"guard.no-further-question"}
    assert len(loaded) == before


def test_the_owners_policy_and_name_of_the_table_hold(state, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text('protocols = ["sketch"]\n')
    configs = {node: config | {"policy": str(policy), "table": f"ward-{node}"} for node, config in NODES.items()}
    found = valued(answers(ClientApp(), loads), configs=configs)
    assert {outcome.notes[0].code for outcome in found.outcomes.values()} == {"guard.protocol-not-allowed"}
    assert sorted(folder.name for folder in state.iterdir()) == [f"ward-{node}" for node in configs]


def test_no_message_and_no_config_makes_a_deployed_node_a_simulated_one(state):
    class InMemoryGrid(InProcessGrid):  # what a dishonest server might call its grid, and then asks as a simulation
        __module__ = "flwr.superlink.grid.inmemory_grid"

    assert is_simulated_grid(InMemoryGrid(None, {}))
    result = value_nodes(InMemoryGrid(answers(ClientApp(), loads), NODES), DIGITS.test, progress=False, nodes=4)
    assert not result.failed
    counted = [Ledger(state / f"loaded-{n}" / "ledger.jsonl").read().questions("cards") for n in range(4)]
    assert counted == [1] * 4


def test_without_a_partition_there_is_one_account_for_all_that_is_loaded(state):
    valued(answers(ClientApp(), lambda context: TABLES[0]), configs={7: {}})
    entries = Ledger(state / "loaded" / "ledger.jsonl").read().entries
    assert entries[0].what == QUESTION


@pytest.mark.usefixtures("simulated")
def test_in_a_simulation_there_is_one_owner_and_the_numbers_are_those_of_one_process(state):
    assert is_simulated_node()
    found = valued(answers(ClientApp(), loads))
    np.testing.assert_allclose(distances(found), distances(fb.value(PARTS, DIGITS.test, seed=0)), atol=1e-9, rtol=0)
    assert not list(state.glob("**/ledger.jsonl"))
    valued(answers(ClientApp(), loads), DIGITS.test.take(range(150)))  # and may ask what it likes


@pytest.mark.usefixtures("simulated")
def test_a_simulated_node_with_a_policy_keeps_to_it(state, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text("min_group = 5\n")
    found = valued(answers(ClientApp(), loads), configs={7: {"partition-id": 0, "policy": str(policy)}})
    assert not found.failed
    assert (state / "loaded-0" / "ledger.jsonl").is_file()


@pytest.mark.parametrize(
    "task", ["flwr.simulation.ray_transport.ray_actor.Other.run", "evil.ClientAppActor.run", "", None]
)
def test_another_task_of_rays_is_no_simulation(simulated, monkeypatch, task):
    context = SimpleNamespace(get_actor_id=lambda: "af", get_task_function_name=lambda: task)
    monkeypatch.setattr(sys.modules["ray"], "get_runtime_context", lambda: context)
    assert not is_simulated_node()


def test_where_ray_cannot_be_asked_it_is_no_simulation(simulated, monkeypatch):
    monkeypatch.delattr(sys.modules["ray"], "get_runtime_context")
    assert not is_simulated_node()
    monkeypatch.setattr(sys.modules["ray"], "is_initialized", lambda: False)
    assert not is_simulated_node()


def as_frame(table):
    frame = pd.DataFrame(next(iter(table.columns.values())), columns=[f"x{i}" for i in range(64)])
    return frame.assign(digit=table.labels)


def test_rows_may_be_held_in_any_of_the_known_forms():
    app = answers(ClientApp(), lambda context: as_frame(loads(context)), label="digit")
    found = valued(app, as_frame(DIGITS.test), label="digit", protocol="sketch")
    assert not found.failed
    assert found.ranking()["client"].iloc[-1] == "node-1003"  # the noisiest of the paper's case 5


def test_what_load_table_raises_stays_at_the_node(state):
    def broken(context):
        raise OSError("/home/ann/secret.parquet")

    found = valued(answers(ClientApp(), broken))
    assert {outcome.notes[0].code for outcome in found.outcomes.values()} == {"guard.table-unreadable"}
    assert "secret" not in str(found)


@pytest.mark.usefixtures("simulated")
def test_in_a_simulation_what_load_table_raises_is_shown(capsys):
    def broken(context):
        raise OSError("no such disk")

    assert len(valued(answers(ClientApp(), broken)).failed) == 4
    assert "no such disk" in capsys.readouterr().err


def test_an_app_that_trains_answers_too_and_the_result_chooses_who_trains():
    app = answers(client_app(), lambda context: TABLES[[17, 2**63 + 5, 999, 4].index(context.node_id)])
    grid = InProcess(app)
    configs = grid._configs
    for number, node in enumerate(configs):
        configs[node]["partition-id"] = number
    result = value_nodes(grid, DIGITS.test, progress=False)
    chosen = result.nodes(k=2)
    SelectedNodes(FedAvg(), chosen).start(grid, initial_model(), num_rounds=1)
    assert {node for kind, node in grid.asked if kind == "train"} == set(chosen)


def test_progress_is_said_in_lines_and_the_folder_has_the_result(tmp_path, capsys):
    grid = InProcessGrid(answers(ClientApp(), loads), NODES)
    result = value_nodes(grid, DIGITS.test, nodes=4, output=tmp_path / "out")
    said = capsys.readouterr().out
    assert "fedbary: 4 nodes take part" in said
    assert "fedbary: valued 4 nodes in" in said
    assert fb.Valuation.load(tmp_path / "out").nodes() == result.nodes()
    assert (tmp_path / "out" / "report.html").is_file()


def test_nodes_are_a_number_or_names(tmp_path):
    named = {node: config | {"name": name} for (node, config), name in zip(NODES.items(), "abcd", strict=True)}
    app = answers(ClientApp(), loads)
    found = value_nodes(InProcessGrid(app, named), DIGITS.test, nodes=["a", "c"], progress=False)
    assert found.clients["client"].tolist() == ["a", "c"]
    with pytest.raises(ProtocolError, check=coded("engines.too-few-nodes")):
        value_nodes(InProcessGrid(app, named), DIGITS.test, nodes=5, join_deadline=0.0, progress=False)
    with pytest.raises(SettingsError, check=parameter("nodes")):
        value_nodes(InProcessGrid(app, named), DIGITS.test, nodes="a")
