"""A Flower training is recorded as it happened, and the methods on a training log work on it."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp.strategy import FedAdam, FedAvg

from codes import coded
from fedbary.errors import DataError, SettingsError
from fedbary_flower.choosing import weighted
from fedbary_flower.layout import Layout
from fedbary_flower.recording import Recording
from fedbary_lab.baselines.clients import METHODS, Setting
from fedbary_lab.training.training_log import TrainingLog
from flower_training import NODES, ROWS, InProcess, accuracy, client_app, initial_model


def trained(recording, rounds=3, app=None, **options):
    """The global model after each round, and Flower's result."""
    seen = {}

    def keep(turn, arrays):
        seen[turn] = arrays

    result = recording.start(
        InProcess(app or client_app()), initial_model(), num_rounds=rounds, evaluate_fn=keep, **options
    )
    return seen, result


@pytest.fixture(scope="module")
def run():
    recording = Recording(FedAvg(), names={node: name for name, node in NODES.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen, result = trained(recording)
    return recording, seen, result


def test_the_average_of_each_round_is_the_strategys_global_model(run):
    recording, seen, _ = run
    log = recording.log
    np.testing.assert_array_equal(log.initial, recording.layout.flatten(seen[0]))
    for turn, model in enumerate(log.global_models, start=1):
        np.testing.assert_allclose(model, recording.layout.flatten(seen[turn]), atol=1e-6)


def test_names_counts_and_size_are_the_clients(run):
    log = run[0].log
    assert dict(zip(log.names, log.counts.tolist(), strict=True)) == ROWS
    assert (log.size, len(log.rounds)) == (4, 3)
    assert run[0].nodes == NODES


def test_the_training_is_the_same_without_recording(run):
    _, _, result = run
    alone = FedAvg().start(InProcess(client_app()), initial_model(), num_rounds=3)
    for key, array in alone.arrays.items():
        np.testing.assert_allclose(result.arrays[key].numpy(), array.numpy(), atol=1e-6)
    assert result.train_metrics_clientapp.keys() == alone.train_metrics_clientapp.keys()
    assert result.evaluate_metrics_clientapp.keys() == alone.evaluate_metrics_clientapp.keys()


@pytest.mark.parametrize("method", ["mr", "gtg", "cgsv"])
def test_the_client_with_random_labels_comes_last(run, method):
    recording = run[0]
    scores = METHODS[method].compute(Setting(recording.log, recording.evaluate(accuracy)))
    assert scores.clients[int(np.argmin(scores.values))] == "noise"


def test_a_saved_log_is_the_same(run, tmp_path):
    log = run[0].log
    loaded = TrainingLog.load(run[0].log.save(tmp_path / "training-log.npz"))
    assert loaded.names == log.names
    np.testing.assert_array_equal(loaded.global_models, log.global_models)


def test_rounds_in_a_folder_give_the_same_log(run, tmp_path):
    recording = Recording(FedAvg(), names=run[0].names, folder=tmp_path / "rounds")
    trained(recording)
    assert sorted(file.name for file in (tmp_path / "rounds").iterdir()) == [f"round-0000{i}.npz" for i in (1, 2, 3)]
    # Nodes are asked in random order, so that averages differ in their last digit.
    order = [recording.log.names.index(name) for name in run[0].log.names]
    for mine, other in zip(recording.log.rounds, run[0].log.rounds, strict=True):
        by_client = dict(zip(mine.selected.tolist(), mine.models, strict=True))
        expected = dict(zip(other.selected.tolist(), other.models, strict=True))
        for place, model in expected.items():
            np.testing.assert_allclose(by_client[order[place]], model, atol=1e-6)


def test_a_folder_with_another_runs_rounds_is_refused(tmp_path):
    (tmp_path / "round-00001.npz").touch()
    with pytest.raises(SettingsError, check=coded("research.folder-holds-rounds")):
        Recording(FedAvg(), folder=tmp_path)


def test_a_client_that_fails_is_not_selected_in_that_round():
    recording = Recording(FedAvg(), names={node: name for name, node in NODES.items()})
    seen, _ = trained(recording, app=client_app(fails={("bob", 2)}))
    log = recording.log
    assert [{log.names[i] for i in entry.selected} for entry in log.rounds] == [
        set(NODES), set(NODES) - {"bob"}, set(NODES),
    ]  # fmt: skip
    np.testing.assert_allclose(log.global_models[1], recording.layout.flatten(seen[2]), atol=1e-6)


def test_a_round_in_which_all_fail_is_left_out():
    recording = Recording(FedAvg())
    seen, _ = trained(recording, app=client_app(fails={(name, 2) for name in NODES}))
    assert len(recording.log.rounds) == 2
    np.testing.assert_allclose(recording.log.final, recording.layout.flatten(seen[3]), atol=1e-6)


def test_names_come_from_the_clients_or_from_the_nodes():
    said, silent = Recording(FedAvg()), Recording(FedAvg())
    trained(said, rounds=1, app=client_app(says_name=True))
    trained(silent, rounds=1)
    assert set(said.log.names) == set(NODES)
    assert set(silent.log.names) == {str(node) for node in NODES.values()}


def test_a_client_cannot_take_the_name_that_the_server_gave_another():
    recording = Recording(FedAvg(), names={NODES["bob"]: "ann"})
    trained(recording, rounds=1, app=client_app(says_name=True))
    assert set(recording.log.names) == {"ann", "ann (17)", "cyd", "noise"}


def test_whole_numbers_are_left_out_and_come_back_as_they_were(run):
    recording = run[0]
    assert recording.layout.keys == ("weight", "bias")
    model = recording.layout.unflatten(np.array([1.0, 2.0, 3.0, 4.0]))
    assert list(model) == ["weight", "steps", "bias"]
    assert model["steps"].numpy() == 0
    assert (model["weight"].numpy().dtype, model["weight"].shape) == (np.float32, (1, 3))
    np.testing.assert_array_equal(recording.layout.flatten(model), [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"weight": np.zeros((2, 3), np.float32)}, "model-array-shape"),
        ({"weight": np.zeros((1, 3), np.int64)}, "model-array-shape"),
        ({"weight": np.full((1, 3), np.nan, np.float32)}, "model-not-finite"),
        ({"extra": np.zeros(1, np.float32)}, "model-has-other-arrays"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(change, code):
    model = ArrayRecord({**initial_model(), **{key: Array(value) for key, value in change.items()}})
    with pytest.raises(DataError, check=coded(f"research.{code}")):
        Layout.of(initial_model()).flatten(model)


def test_what_cannot_be_recorded_does_not_end_the_training():
    recording = Recording(FedAvg(), examples_key="rows")
    with pytest.warns(UserWarning, match="the training goes on"):
        seen, _ = trained(recording)
    assert len(seen) == 4
    with pytest.raises(DataError, check=coded("research.not-recorded")):
        _ = recording.log


def test_another_average_is_warned_of():
    with pytest.warns(UserWarning, match="differs by .* from the average") as told:
        trained(Recording(FedAdam()))
    assert len(told) == 1
    with pytest.warns(UserWarning, match="differs by"):
        trained(Recording(weighted(FedAvg(), {NODES["ann"]: 1.0})))


def test_nothing_recorded_is_said():
    with pytest.raises(DataError, check=coded("research.nothing-recorded")):
        _ = Recording(FedAvg()).log
    with pytest.raises(SettingsError, check=coded("settings.parameter")):
        Recording("fedavg")


def test_a_strategy_with_a_start_of_its_own_keeps_it():
    class Own(FedAvg):
        greeting = "mine"

        def start(self, grid, initial_arrays, num_rounds=3, **options):
            messages = self.configure_train(1, initial_arrays, options["config"], grid)
            self.aggregate_train(1, grid.send_and_receive(messages))
            return self.greeting

    recording = Recording(Recording(Own()))
    assert recording.start(InProcess(client_app()), initial_model(), config=ConfigRecord()) == "mine"
    assert len(recording.log.rounds) == len(recording.strategy.log.rounds) == 1


def test_metrics_reach_the_strategy_untouched():
    got = []

    def keep(contents, key):
        got.extend(content["metrics"]["num-examples"] for content in contents)
        return MetricRecord()

    trained(Recording(FedAvg(train_metrics_aggr_fn=keep)), rounds=1)
    assert sorted(got) == sorted(ROWS.values())


WITHOUT_THE_LABORATORY = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "fedbary_lab":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
from fedbary.flower import SelectedNodes
sys.meta_path.insert(0, Absent())
try:
    from fedbary.flower import Recording
except ImportError as error:
    print(error)
"""


def test_without_the_laboratory_it_is_said_what_recording_needs():
    command = [sys.executable, "-c", WITHOUT_THE_LABORATORY]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Recording needs the package fedbary-lab" in said
    assert "pip install 'fedbary[lab]'" in said
