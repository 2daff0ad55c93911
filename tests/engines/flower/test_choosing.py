"""A valuation decides which nodes train, and how much each counts."""

import numpy as np
import pandas as pd
import pytest
from flower_training import NODES, ROWS, InProcess, client_app, initial_model
from flwr.app import ConfigRecord
from flwr.serverapp.strategy import FedAvg
from flwr.serverapp.strategy.strategy import Strategy

from codes import coded
from fedbary.engines.flower.choosing import SelectedNodes, from_result, weighted
from fedbary.errors import SettingsError
from fedbary.research.flower_recording import Recording
from fedbary.valuation.result import CLIENT_COLUMNS, Valuation

SHARES = {"ann": 0.5, "bob": 0.1, "cyd": 0.3, "noise": 0.1}


@pytest.fixture
def result():
    frame = pd.DataFrame({"client": list(SHARES), "rows": list(ROWS.values()), "share": list(SHARES.values())})
    frame["quality"] = [0.96, 0.8, 0.98, 0.2]
    return Valuation(frame.reindex(columns=CLIENT_COLUMNS), pd.DataFrame(), {})


def flat(arrays):
    return np.concatenate([arrays["weight"].numpy().ravel(), arrays["bias"].numpy()])


def local_models(nodes):
    """Every node's model after a round of training from the initial one."""
    recording = Recording(FedAvg())
    recording.start(InProcess(client_app()), initial_model(), num_rounds=1)
    log = recording.log
    by_name = {log.names[i]: model for i, model in zip(log.rounds[0].selected, log.rounds[0].models, strict=True)}
    return np.stack([by_name[str(node)] for node in nodes])


def test_only_chosen_nodes_are_asked_to_train_and_to_evaluate():
    grid = InProcess(client_app())
    chosen = {NODES["ann"], NODES["cyd"]}
    SelectedNodes(FedAvg(), chosen).start(grid, initial_model(), num_rounds=2)
    assert {node for kind, node in grid.asked if kind == "train"} == chosen
    assert {node for kind, node in grid.asked if kind == "evaluate"} == chosen
    assert len(grid.asked) == 8


def test_sampling_draws_among_the_chosen_nodes():
    grid = InProcess(client_app())
    strategy = FedAvg(fraction_train=0.5, min_train_nodes=1, fraction_evaluate=0.0)
    SelectedNodes(strategy, [NODES["ann"], NODES["cyd"]]).start(grid, initial_model(), num_rounds=4)
    assert len(grid.asked) == 4


def test_a_strategy_that_does_not_ask_the_grid_still_reaches_chosen_nodes_only():
    class Stubborn(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            return super().configure_train(server_round, arrays, config, everybody)

    everybody = InProcess(client_app())
    messages = SelectedNodes(Stubborn(), [17, 999]).configure_train(1, initial_model(), ConfigRecord(), everybody)
    assert sorted(message.metadata.dst_node_id for message in messages) == [17, 999]


def test_a_strategy_that_would_wait_for_ever_is_refused():
    with pytest.raises(SettingsError, check=coded("engines.strategy-waits-for-ever")):
        SelectedNodes(FedAvg(), [17])
    with pytest.raises(SettingsError, check=coded("engines.no-node-chosen")):
        SelectedNodes(FedAvg(), [])
    SelectedNodes(FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1), [17])


def test_the_weights_replace_the_number_of_rows():
    weights = {NODES["ann"]: 3.0, NODES["bob"]: 1.0}
    done = weighted(FedAvg(), weights).start(InProcess(client_app()), initial_model(), num_rounds=1)
    expected = np.array([0.75, 0.25]) @ local_models(list(weights))
    np.testing.assert_allclose(flat(done.arrays), expected, atol=1e-6)


def test_nodes_that_are_not_named_count_otherwise():
    done = weighted(FedAvg(), {}, otherwise=1.0).start(InProcess(client_app()), initial_model(), num_rounds=1)
    np.testing.assert_allclose(flat(done.arrays), local_models(list(NODES.values())).mean(axis=0), atol=1e-6)


def test_evaluation_still_counts_rows():
    done = weighted(FedAvg(), {NODES["bob"]: 1.0}).start(InProcess(client_app()), initial_model(), num_rounds=1)
    assert done.evaluate_metrics_clientapp[1]["is-ann"] == pytest.approx(ROWS["ann"] / sum(ROWS.values()))


def test_the_replies_are_as_they_were_afterwards():
    grid = InProcess(client_app())
    strategy = weighted(FedAvg(), {NODES["ann"]: 1.0})
    replies = grid.send_and_receive(strategy.configure_train(1, initial_model(), ConfigRecord(), grid))
    strategy.aggregate_train(1, replies)
    assert sorted(reply.content["metrics"]["num-examples"] for reply in replies) == sorted(ROWS.values())


def test_errors_and_dropouts_pass_through():
    app = client_app(fails={("ann", 1)})
    weights = {NODES["ann"]: 1.0, NODES["cyd"]: 1.0}
    done = weighted(FedAvg(), weights).start(InProcess(app), initial_model(), num_rounds=1)
    np.testing.assert_allclose(flat(done.arrays), local_models([NODES["cyd"]])[0], atol=1e-6)


def test_bad_weights_are_refused():
    with pytest.raises(SettingsError, check=coded("settings.parameter")):
        weighted(FedAvg(), {17: -1.0})
    with pytest.raises(SettingsError, check=coded("engines.all-weights-zero")):
        weighted(FedAvg(), {17: 0.0})
    with pytest.raises(SettingsError, check=coded("engines.only-weightless-nodes")):
        weighted(FedAvg(), {12345: 1.0}).start(InProcess(client_app()), initial_model(), num_rounds=1)


def test_a_strategy_without_weights_is_refused():
    class Plain(Strategy):
        def configure_train(self, *args): ...
        def aggregate_train(self, *args): ...
        def configure_evaluate(self, *args): ...
        def aggregate_evaluate(self, *args): ...
        def summary(self): ...

    with pytest.raises(SettingsError, check=coded("engines.strategy-without-weights")):
        weighted(Plain(), {17: 1.0})


def test_a_result_names_nodes_and_weights(result):
    choice = from_result(result, NODES)  # those that the verdict includes
    assert choice.nodes == (NODES["cyd"], NODES["ann"])
    good = {NODES["cyd"]: 100 * 0.98, NODES["ann"]: 120 * 0.96}
    assert choice.weights == pytest.approx({node: rows / sum(good.values()) for node, rows in good.items()})
    assert from_result(result, NODES, k=2).nodes == from_result(result, NODES, share=0.8).nodes == choice.nodes
    shares = from_result(result, NODES, k=2, by="share").weights
    assert shares == pytest.approx({NODES["ann"]: 0.625, NODES["cyd"]: 0.375})
    rows = from_result(result, NODES, k=2, by="rows").weights
    assert rows == pytest.approx({NODES["ann"]: 120 / 220, NODES["cyd"]: 100 / 220})


def test_a_node_that_the_verdict_leaves_out_never_trains(result):
    for criterion in ({"k": 4}, {"share": 1.0}, {"quality": 0.1}):
        choice = from_result(result, NODES, **criterion)
        assert set(choice.nodes) == {NODES[name] for name in ("ann", "bob", "cyd")}


def test_a_choice_trains_with_its_nodes_and_weights(result):
    grid = InProcess(client_app())
    choice = from_result(result, NODES, k=2)
    done = choice.apply(FedAvg(fraction_evaluate=0.0)).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == set(choice.nodes)
    expected = np.array(list(choice.weights.values())) @ local_models(choice.nodes)
    np.testing.assert_allclose(flat(done.arrays), expected, atol=1e-6)


def test_a_result_that_does_not_fit_the_nodes_is_refused(result):
    with pytest.raises(SettingsError, check=coded("engines.no-node-of-client")):
        from_result(result, {"ann": 17}, k=2)
    with pytest.raises(SettingsError, check=coded("engines.one-node-twice")):
        from_result(result, dict.fromkeys(SHARES, 17), k=2)
    with pytest.raises(SettingsError, check=coded("engines.nobody-chosen")):
        from_result(result, NODES, quality=0.99)
