"""A run that was interrupted, or is started again, is the same run, with the same questions and numbers."""

import pandas as pd

from fedbary.data.atomic import read_arrays
from fedbary.engines.coordinator import RunConfig
from fedbary.protocols.interpolation import draw_t
from fedbary.protocols.interpolation import server as server_module
from fedbary_flower.client_app import app
from fedbary_flower.server_app import valued
from federations import QUICK, files, interrupted, lines, many, owners, reference_file, simulation
from inprocess import InProcessGrid, raised


def test_a_killed_server_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    nodes, config = simulation(tmp_path, protocol="interpolation", rounds=4, t=0.5)
    straight = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "straight")}))
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    pd.testing.assert_frame_equal(found.clients, straight.clients)


def test_all_parties_keep_their_own_t_when_a_killed_server_goes_on(tmp_path, monkeypatch):
    """The last γ of each node follows from the t of all rounds before, the server's and its own."""
    tables, reference = many(3)
    nodes = files(tmp_path, tables)
    (tmp_path / "policy.toml").write_text('protocols = ["interpolation"]\n')
    nodes = {node: config | {"policy": str(tmp_path / "policy.toml")} for node, config in nodes.items()}
    config = {"protocol": "interpolation", "rounds": 4, "support": 3, "tolerance": 0.0, "num-nodes": 3, "timeout": 60.0}
    config |= {"reference": reference_file(tmp_path, reference), "output": str(tmp_path / "out"), "poll": 0.001}
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    before = read_arrays(tmp_path / "out" / "checkpoint.npz")
    drawn = []
    monkeypatch.setattr(server_module, "draw_t", lambda *arguments: drawn.append(arguments[1]) or draw_t(*arguments))
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    assert not found.failed
    assert set(drawn) == {int(before["server/t_seed"])} != {0}
    assert found.history.groupby("client")["round"].max().tolist() == [4, 4, 4]


def test_a_resumed_run_waits_for_its_nodes_but_not_for_those_that_had_failed(tmp_path, monkeypatch):
    nodes, config = simulation(tmp_path, clients=3, protocol="interpolation", rounds=2, **QUICK)
    config |= {"timeout": 60.0, "join-deadline": 60.0}
    interrupted(monkeypatch, InProcessGrid(app, nodes, {102: raised}), config)

    class Late(InProcessGrid):
        online = ([], [100], [100], [100, 101])
        looks = 0

        def get_node_ids(self):
            self.looks += 1
            return self.online[min(self.looks, len(self.online)) - 1]

        def push_messages(self, messages):
            # Flower answers for a node that is not online with an error at once.
            assert self.get_node_ids() == [100, 101]
            return super().push_messages(messages)

    found = valued(Late(app, nodes), RunConfig.of({**config, "resume": True}))
    assert found.clients.set_index("client").loc[["client_1", "client_2"], "status"].tolist() == ["ok", "ok"]
    assert list(found.failed) == ["node-102"]


def test_a_killed_server_goes_on_with_the_same_question(tmp_path, monkeypatch):
    nodes, config = owners(tmp_path, 'protocols = ["interpolation"]\n')
    config |= {"protocol": "interpolation", "rounds": 4, "support": 3}
    interrupted(monkeypatch, InProcessGrid(app, nodes), config)
    found = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "resume": True}))
    assert not found.failed
    assert lines(tmp_path, "site-0").count("question") == 1
    assert set(lines(tmp_path, "site-0")) == {"question", "reply"}
    another = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "output": str(tmp_path / "two")}))
    assert {outcome.notes[0].code for outcome in another.outcomes.values()} == {"guard.no-further-question"}


def test_a_run_that_is_started_again_is_the_same_question(tmp_path):
    """With other ids of the same nodes, as after a new registration; the noise is the same, too."""
    nodes, config = owners(tmp_path, "epsilon_budget = 1.0\n")
    config |= {"epsilon": 1.0}
    first = valued(InProcessGrid(app, nodes), RunConfig.of(config))
    again = valued(InProcessGrid(app, {node + 50: own for node, own in nodes.items()}), RunConfig.of(config))
    assert not first.failed
    pd.testing.assert_frame_equal(first.clients.drop(columns="node"), again.clients.drop(columns="node"))
    assert lines(tmp_path, "site-0") == ["question", "reply", "free"]  # the same answer again, which costs nothing
    other = valued(InProcessGrid(app, nodes), RunConfig.of({**config, "seed": 5}))
    assert {outcome.notes[0].code for outcome in other.outcomes.values()} == {"guard.budget-spent"}
