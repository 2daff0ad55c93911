"""Federated averaging against plain training written out here, and batches of coalitions against one by one."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn
from training_fixtures import blobs

import fedbary as fb
from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary_lab.training import fedavg as module_under_test
from fedbary_lab.training.evaluate import Evaluator
from fedbary_lab.training.fedavg import run, train_coalitions
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation, Rows
from fedbary_lab.training.flat_model import FlatModel
from fedbary_lab.training.models import CNN, MLP, Logistic


def sequences(width, classes):
    """A recurrent network, which PyTorch cannot evaluate for many weights at once."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = nn.GRU(1, 3, batch_first=True)
            self.out = nn.Linear(3, classes)

        def forward(self, rows):
            return self.out(self.memory(rows[:, :, None])[0][:, -1])

    return Recurrent()


def with_dropout(width, classes):
    return nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, classes))


MODELS = {
    "logistic": Logistic(),
    "mlp": MLP((5,)),
    "cnn": CNN((2, 3)),
    "dropout": with_dropout,
    "recurrent": sequences,
    "own weights": nn.Linear(16, 3, bias=False),
}


def plain_training(module, rows, settings):
    """Stochastic gradient descent as anyone would write it with PyTorch's optimiser, in the documented order."""
    module = module.double()
    X, y = torch.tensor(rows.features), torch.tensor(rows.codes)
    for turn in range(settings.rounds):
        optimiser = torch.optim.SGD(module.parameters(), lr=settings.learning_rate, momentum=settings.momentum)
        for epoch in range(settings.local_epochs):
            order = np.random.default_rng([0, settings.seed, len(rows), turn, epoch]).permutation(len(rows))
            for start in range(0, len(rows), settings.batch_size):
                chosen = order[start : start + settings.batch_size]
                optimiser.zero_grad()
                nn.functional.cross_entropy(module(X[chosen]), y[chosen]).backward()
                optimiser.step()
    return torch.cat([weight.detach().reshape(-1) for weight in module.parameters()]).numpy()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("model", [Logistic(), MLP((6, 5)), CNN((2,))], ids=["logistic", "mlp", "cnn"])
def test_one_client_is_plain_stochastic_gradient_descent(model, momentum):
    federation = blobs([50], width=16)
    settings = FedAvg(rounds=3, local_epochs=2, batch_size=16, momentum=momentum, dtype="float64", seed=7)
    expected = plain_training(model.build(16, 3, seed=7), federation.clients[0], settings)
    assert run(model, federation, settings).final == pytest.approx(expected, abs=1e-9)


def test_the_average_weighs_clients_by_their_rows():
    federation = blobs([10, 30])
    log = run(Logistic(), federation, FedAvg(rounds=1, dtype="float64"))
    alone = train_coalitions(Logistic(), federation, np.eye(2, dtype=bool), FedAvg(rounds=1, dtype="float64"))
    assert log.final == pytest.approx(0.25 * alone[0] + 0.75 * alone[1], abs=1e-12)


def test_only_the_recurrent_model_is_evaluated_one_by_one_and_only_dropout_is_random():
    flats = {name: FlatModel.of(model, 16, 3) for name, model in MODELS.items()}
    assert [name for name, flat in flats.items() if not flat.vectorised] == ["recurrent"]
    assert [name for name, flat in flats.items() if flat.random] == ["dropout"]
    assert [name for name, flat in flats.items() if flat.linear] == ["logistic"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_coalitions_is_the_same_as_one_by_one(name, dtype):
    federation = blobs([7, 40, 23], width=16)
    settings = FedAvg(rounds=3, batch_size=16, momentum=0.5, dtype=dtype, seed=1)
    every = np.array(list(itertools.product([False, True], repeat=3)))
    together = train_coalitions(MODELS[name], federation, every, settings)
    for coalition, weights in zip(every, together, strict=True):
        alone = train_coalitions(MODELS[name], federation, coalition[None], settings, threads=1)[0]
        assert weights == pytest.approx(alone, abs=1e-6)
        if coalition.any():
            members = np.flatnonzero(coalition)
            smaller = Federation(
                tuple(federation.names[i] for i in members),
                tuple(federation.clients[i] for i in members),
                federation.test,
                federation.classes,
            )
            assert weights == pytest.approx(run(MODELS[name], smaller, settings).final, abs=1e-6)


def test_the_empty_coalition_keeps_the_initial_weights():
    federation = blobs([10, 10])
    log = run(Logistic(), federation)
    none, everyone = train_coalitions(Logistic(), federation, [[False, False], [True, True]])
    assert none == pytest.approx(log.initial, abs=0)
    assert everyone == pytest.approx(log.final, abs=1e-6)


@pytest.mark.parametrize("model", [Logistic(), MLP((5,))], ids=["logistic", "mlp"])
def test_neither_blocks_nor_chunks_nor_threads_matter(monkeypatch, model):
    federation = blobs([9, 20, 30])
    every = np.array(list(itertools.product([False, True], repeat=3)))
    whole = train_coalitions(model, federation, every)
    monkeypatch.setattr("fedbary_lab.training.flat_model._AT_A_TIME", 6000)
    monkeypatch.setattr("fedbary_lab.training.fedavg._CHUNK_BYTES", 1000)
    assert len(module_under_test._parts(8, 4 * len(whole[0]), 3)) > 3
    assert train_coalitions(model, federation, every, threads=3) == pytest.approx(whole, abs=1e-6)


def test_clients_with_equal_rows_have_equal_models_wherever_they_stand():
    twin = blobs([33, 33, 33]).clients
    federation = Federation(("a", "b", "c"), (twin[0], twin[1], twin[0]), twin[2], ("0", "1", "2"))
    for entry in run(MLP((4,)), federation, FedAvg(rounds=3, batch_size=8, local_epochs=2)).rounds:
        assert (entry.models[0] == entry.models[2]).all()
        assert (entry.models[0] != entry.models[1]).any()


def test_the_order_of_rows_does_not_matter_in_one_full_batch():
    first, test = blobs([30, 30]).clients
    shuffled = Rows(first.features[::-1], first.codes[::-1])
    federation = Federation(("a", "b"), (first, shuffled), test, ("0", "1", "2"))
    for entry in run(Logistic(), federation, FedAvg(batch_size=30, dtype="float64")).rounds:
        assert entry.models[0] == pytest.approx(entry.models[1], abs=1e-12)


def test_the_same_seed_gives_the_same_run_and_another_seed_another_one():
    federation, torch_before = blobs([20, 30]), torch.random.get_rng_state()
    once, again = (run(with_dropout, federation, FedAvg(rounds=2, seed=3)) for _ in range(2))
    assert (once.final == again.final).all()
    assert (run(with_dropout, federation, FedAvg(rounds=2, seed=4)).final != once.final).any()
    assert torch.equal(torch.random.get_rng_state(), torch_before)


def test_drawn_clients_are_as_many_as_asked_and_differ_between_rounds():
    log = run(Logistic(), blobs([10] * 6), FedAvg(rounds=60, clients_per_round=2))
    drawn = [tuple(entry.selected) for entry in log.rounds]
    assert all(len(pair) == 2 for pair in drawn)
    times = np.bincount(np.concatenate(drawn), minlength=6)
    assert times.min() > 10
    assert times.max() < 35


def test_coalitions_draw_from_their_own_members_and_that_of_all_is_the_run():
    federation, settings = blobs([10, 20, 30, 40]), FedAvg(rounds=4, clients_per_round=2)
    coalitions = [[True] * 4, [True, False, False, True], [False, True, False, False]]
    weights = train_coalitions(Logistic(), federation, coalitions, settings)
    assert weights[0] == pytest.approx(run(Logistic(), federation, settings).final, abs=1e-6)
    everyone = train_coalitions(Logistic(), federation, coalitions, FedAvg(rounds=4))
    assert weights[1:] == pytest.approx(everyone[1:], abs=1e-6)


def test_progress_counts_every_local_training():
    seen = []
    coalitions = np.array(list(itertools.product([False, True], repeat=3)))
    train_coalitions(
        Logistic(), blobs([5, 5, 5]), coalitions, FedAvg(rounds=2), progress=lambda *step: seen.append(step), threads=2
    )
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (24, 24)
    assert all(total == 24 for _, total in seen)


def test_an_error_in_progress_ends_the_training():
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_coalitions(Logistic(), blobs([5, 5]), np.ones((4, 2), dtype=bool), progress=interrupt, threads=2)


def test_no_coalitions_have_no_weights():
    assert train_coalitions(Logistic(), blobs([5, 5]), np.zeros((0, 2), dtype=bool)).shape == (0, 15)


def test_the_threads_of_torch_are_left_as_they_were():
    before = torch.get_num_threads()
    train_coalitions(Logistic(), blobs([5, 5]), np.ones((4, 2), dtype=bool), threads=3)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("model", [Logistic(), MLP((32,)), CNN((8, 16))], ids=["logistic", "mlp", "cnn"])
def test_training_learns_to_read_digits(five_clients, model):
    train, reference = five_clients
    clients = fb.partitions.by_size(train, [100, 200, 300, 400], seed=0).clients
    federation = Federation.from_tables(clients, reference)
    evaluator = Evaluator(model, federation.test, len(federation.classes))
    log = run(model, federation, FedAvg(rounds=10, local_epochs=2, batch_size=32))
    assert evaluator.accuracy(log.initial)[0] < 0.3
    assert evaluator.accuracy(log.final)[0] > 0.85


@pytest.mark.parametrize(
    ("coalitions", "facts"),
    [
        ([[1, 0]], {"dtype": "int64"}),
        ([[True, False, True]], {"shape": "(1, 3)"}),
        ([True, False], {"shape": "(2,)"}),
    ],
)
def test_wrong_coalitions_are_refused(coalitions, facts):
    with pytest.raises(SettingsError, check=coded("research.coalitions-shape")) as refused:
        train_coalitions(Logistic(), blobs([5, 5]), coalitions)
    assert facts.items() <= refused.value.public.items()


def test_a_diverged_training_says_so():
    federation = blobs([20])
    wild = FedAvg(rounds=50, learning_rate=1e30)
    with pytest.raises(SettingsError, check=coded("research.training-diverged")):
        run(MLP((5,)), federation, wild)
    with pytest.raises(SettingsError, check=coded("research.training-diverged")):
        train_coalitions(MLP((5,)), federation, [[True]], wild)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"local_epochs": 1.5},
        {"batch_size": -1},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"clients_per_round": 0},
        {"momentum": 1.0},
        {"dtype": "float16"},
        {"seed": -1},
        {"rounds": True},
    ],
    ids=str,
)
def test_senseless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, check=parameter(*wrong)):
        FedAvg(**wrong)


def test_threads_must_be_positive():
    with pytest.raises(SettingsError, check=parameter("threads")):
        run(Logistic(), blobs([5]), threads=0)
