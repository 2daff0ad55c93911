"""A valuation decides which nodes train, and how much each counts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from flwr.app import ConfigRecord
from flwr.serverapp import Grid
from flwr.serverapp import strategy as strategies
from flwr.serverapp.strategy import FedAvg
from flwr.serverapp.strategy.strategy import Strategy

from codes import coded
from fedbary.errors import SettingsError
from fedbary.valuation.clients import CLIENT_COLUMNS
from fedbary.valuation.result import Valuation
from fedbary_flower.choosing import from_result, weighted
from fedbary_flower.recording import Recording
from fedbary_flower.selected_nodes import SelectedNodes
from flower_training import NODES, ROWS, InProcess, client_app, initial_model

# Older releases know ids alone.
needs_names = pytest.mark.skipif(not hasattr(Grid, "get_nodes"), reason="this Flower knows no registered names")
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


def ids(choice):
    return tuple(node.id for node in choice.nodes)


def weights_of(choice):
    return {node.id: weight for node, weight in choice.weights.items()}


def test_a_result_names_nodes_and_weights(result):
    choice = from_result(result, NODES)  # those that the verdict includes
    assert ids(choice) == (NODES["cyd"], NODES["ann"])
    good = {NODES["cyd"]: 100 * 0.98, NODES["ann"]: 120 * 0.96}
    assert weights_of(choice) == pytest.approx({node: rows / sum(good.values()) for node, rows in good.items()})
    assert from_result(result, NODES, k=2).nodes == from_result(result, NODES, share=0.8).nodes == choice.nodes
    shares = from_result(result, NODES, k=2, by="share")
    assert weights_of(shares) == pytest.approx({NODES["ann"]: 0.625, NODES["cyd"]: 0.375})
    rows = from_result(result, NODES, k=2, by="rows")
    assert weights_of(rows) == pytest.approx({NODES["ann"]: 120 / 220, NODES["cyd"]: 100 / 220})


def test_a_node_that_the_verdict_leaves_out_never_trains(result):
    for criterion in ({"k": 4}, {"share": 1.0}, {"quality": 0.1}):
        choice = from_result(result, NODES, **criterion)
        assert set(ids(choice)) == {NODES[name] for name in ("ann", "bob", "cyd")}


def test_a_choice_trains_with_its_nodes_and_weights(result):
    grid = InProcess(client_app())
    choice = from_result(result, NODES, k=2)
    done = choice.apply(FedAvg(fraction_evaluate=0.0)).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == set(ids(choice))
    expected = np.array(list(choice.weights.values())) @ local_models(ids(choice))
    np.testing.assert_allclose(flat(done.arrays), expected, atol=1e-6)


def registered(nodes=NODES):
    return InProcess(client_app(), registered={node: name for name, node in nodes.items()})


def over_flower(result, nodes=NODES):
    return replace(result, settings=result.settings | {"nodes": dict(nodes)})


@needs_names
@pytest.mark.parametrize("wrapped", [SelectedNodes, weighted, lambda inner, result: from_result(result).apply(inner)])
def test_a_result_of_cards_finds_its_nodes_by_their_registered_names(result, wrapped):
    grid = registered()
    wrapped(FedAvg(), result).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}


@pytest.mark.parametrize("wrapped", [SelectedNodes, weighted, lambda inner, result: from_result(result).apply(inner)])
def test_a_result_of_a_run_on_flower_knows_its_nodes(result, wrapped):
    grid = InProcess(client_app())
    wrapped(FedAvg(), over_flower(result)).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}
    assert over_flower(result).nodes() == [NODES["cyd"], NODES["ann"]]
    assert over_flower(result).nodes(k=1) == [NODES["cyd"]]


def test_a_result_of_no_network_has_no_nodes(result):
    with pytest.raises(SettingsError, check=coded("valuation.no-nodes")):
        result.nodes()


@needs_names
def test_a_node_that_was_registered_anew_is_known_by_its_name(result):
    before = {**NODES, "ann": 111, "cyd": NODES["bob"]}  # the id of another node, by now
    grid = registered()
    done = weighted(FedAvg(fraction_evaluate=0.0), over_flower(result, before)).start(grid, initial_model(), 1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}
    choice = from_result(result, NODES)
    expected = np.array(list(choice.weights.values())) @ local_models(ids(choice))
    np.testing.assert_allclose(flat(done.arrays), expected, atol=1e-6)


@needs_names
def test_names_and_ids_may_be_given_by_hand():
    grid = registered()
    SelectedNodes(FedAvg(), ["ann", NODES["cyd"]]).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}
    done = weighted(FedAvg(), {"ann": 1.0}).start(registered(), initial_model(), num_rounds=1)
    np.testing.assert_allclose(flat(done.arrays), local_models([NODES["ann"]])[0], atol=1e-6)
    with pytest.raises(SettingsError, check=coded("settings.parameter")):
        SelectedNodes(FedAvg(), "ann")


def test_names_that_no_node_has_are_named_once(result):
    strategy = SelectedNodes(FedAvg(), result, deadline=0)
    with pytest.raises(SettingsError, check=coded("engines.no-node-of-name")) as raised:
        strategy.start(InProcess(client_app()), initial_model(), num_rounds=1)
    assert raised.value.note.facts["names"] == ("cyd", "ann")
    with pytest.raises(SettingsError, check=coded("engines.no-node-of-name")):
        weighted(FedAvg(), {"ann": 1.0, NODES["cyd"]: 1.0}).start(InProcess(client_app()), initial_model(), 1)


@needs_names
def test_two_nodes_of_one_name_are_told_apart_by_id(result):
    grid = InProcess(client_app(), registered={NODES["ann"]: "ann", NODES["bob"]: "ann", NODES["cyd"]: "cyd"})
    with pytest.raises(SettingsError, check=coded("engines.several-nodes-of-name")):
        SelectedNodes(FedAvg(), result).start(grid, initial_model(), num_rounds=1)
    SelectedNodes(FedAvg(), over_flower(result)).start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}


def test_a_chosen_node_that_is_offline_trains_when_it_is_back():
    grid = InProcess(client_app())
    away = {NODES["ann"]}
    grid.get_node_ids = lambda: [node for node in NODES.values() if node not in away]
    one = FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1, fraction_evaluate=0.0)
    strategy = SelectedNodes(one, [NODES["ann"], NODES["cyd"]], deadline=0)
    with pytest.warns(UserWarning, match=str(NODES["ann"])):
        strategy.start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["cyd"]}  # nobody takes its place
    away.clear()
    strategy.start(grid, initial_model(), num_rounds=1)
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}
    grid.get_node_ids = lambda: [NODES["bob"], NODES["noise"]]
    with pytest.raises(SettingsError, check=coded("engines.no-chosen-node-online")):
        SelectedNodes(one, [NODES["ann"]], deadline=0).start(grid, initial_model(), num_rounds=1)


OPTIONS = {
    "FedAvgM": {"server_momentum": 0.5},
    "FedProx": {"proximal_mu": 0.1},
    "QFedAvg": {"client_learning_rate": 0.1},
    "DifferentialPrivacyClientSideAdaptiveClipping": {"noise_multiplier": 0.1, "num_sampled_clients": 40},
    "DifferentialPrivacyClientSideFixedClipping": {
        "noise_multiplier": 1.0, "clipping_norm": 1.0, "num_sampled_clients": 4,
    },
    "DifferentialPrivacyServerSideAdaptiveClipping": {"noise_multiplier": 0.1, "num_sampled_clients": 40},
    "DifferentialPrivacyServerSideFixedClipping": {
        "noise_multiplier": 1.0, "clipping_norm": 1.0, "num_sampled_clients": 4,
    },
}  # fmt: skip
STRATEGIES = sorted(set(strategies.__all__) - {"Result", "Strategy"})


def made(name):
    options = OPTIONS.get(name, {})
    return getattr(strategies, name)(*([FedAvg()] if name.startswith("Differential") else []), **options)


def test_the_strategies_that_average_by_weights_are_these():
    refused = {}
    for name in STRATEGIES:
        try:
            weighted(made(name), {17: 1.0})
        except SettingsError as error:
            refused[name] = error.code, error.note.facts["strategy"]
    assert all(why == ("engines.strategy-ignores-weights", name) for name, why in refused.items())
    assert set(STRATEGIES) - set(refused) == {
        "FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedProx", "FedYogi",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedProx", "FedYogi"])
def test_a_node_of_all_the_weight_trains_as_if_it_were_alone(name):
    alone, ann = made(name), NODES["ann"]
    for least in ("min_train_nodes", "min_evaluate_nodes", "min_available_nodes"):
        setattr(alone, least, 1)
    expected = SelectedNodes(alone, [ann]).start(InProcess(client_app()), initial_model(), num_rounds=1)
    found = weighted(made(name), {ann: 1.0}).start(InProcess(client_app()), initial_model(), num_rounds=1)
    for key, array in expected.arrays.items():
        np.testing.assert_allclose(found.arrays[key].numpy(), array.numpy(), atol=1e-6)


def test_a_strategy_derived_from_one_that_ignores_weights_is_refused(result):
    class Mine(strategies.FedMedian):
        pass

    for inner in (Mine(), Recording(Mine()), SelectedNodes(Mine(), [17, 4])):
        with pytest.raises(SettingsError, check=coded("engines.strategy-ignores-weights")) as raised:
            weighted(inner, {17: 1.0})
        assert raised.value.note.facts["strategy"] == "Mine"
    with pytest.raises(SettingsError, check=coded("engines.strategy-ignores-weights")):
        weighted(Mine(), result)
    grid = InProcess(client_app())
    SelectedNodes(Mine(), over_flower(result)).start(grid, initial_model(), num_rounds=1)  # the way out
    assert {node for _, node in grid.asked} == {NODES["ann"], NODES["cyd"]}


def test_a_result_that_does_not_fit_the_nodes_is_refused(result):
    with pytest.raises(SettingsError, check=coded("engines.no-node-of-client")):
        from_result(result, {"ann": 17}, k=2)
    with pytest.raises(SettingsError, check=coded("engines.one-node-twice")):
        from_result(result, dict.fromkeys(SHARES, 17), k=2)
    with pytest.raises(SettingsError, check=coded("engines.nobody-chosen")):
        from_result(result, NODES, quality=0.99)
