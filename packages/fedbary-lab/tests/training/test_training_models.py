"""Models: deterministic weights, the flat vector, and clear words about modules that cannot be trained here."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from training_fixtures import blobs

from codes import coded, parameter
from fedbary.errors import SettingsError
from fedbary_lab.training.fedavg import run
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.flat_model import FlatModel
from fedbary_lab.training.models import CNN, MLP, Logistic, build_module


@pytest.mark.parametrize("model", [Logistic(), MLP(), CNN()], ids=["logistic", "mlp", "cnn"])
def test_the_seed_decides_the_initial_weights_and_nothing_else_does(model):
    torch.manual_seed(1)
    first = FlatModel.of(model, 64, 10, seed=5).initial
    torch.manual_seed(2)
    assert torch.equal(first, FlatModel.of(model, 64, 10, seed=5).initial)
    assert not torch.equal(first, FlatModel.of(model, 64, 10, seed=6).initial)


@pytest.mark.parametrize("model", [Logistic(), MLP((7, 5)), CNN((2, 3))], ids=["logistic", "mlp", "cnn"])
def test_flat_vectors_give_the_scores_of_the_module_itself(model):
    module = model.build(64, 10, seed=0).double()
    flat = FlatModel.of(model, 64, 10, seed=0, dtype="float64")
    rows = torch.randn(6, 64, dtype=torch.float64)
    vectors = torch.stack([flat.initial, 0.5 * flat.initial])
    scores = flat.logits(vectors, rows)
    for vector, expected in zip(vectors, scores, strict=True):
        nn.utils.vector_to_parameters(vector, module.parameters())
        assert expected.numpy() == pytest.approx(module(rows).detach().numpy(), abs=1e-12)


@pytest.mark.parametrize(
    ("width", "image"), [(64, (8, 8, 1)), (784, (28, 28, 1)), (3072, (32, 32, 3))], ids=["8", "28", "32×3"]
)
def test_image_shapes_are_found_from_the_width(width, image):
    assert CNN().build(width, 10)[0].shape == image


def test_colours_are_read_in_the_order_in_which_tables_flatten_images():
    images = np.random.default_rng(0).random((2, 4, 6, 3))
    planes = CNN((2,), shape=(4, 6, 3)).build(72, 5)[0](torch.tensor(images.reshape(2, -1)))
    assert planes.numpy() == pytest.approx(images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda: CNN().build(65, 10), coded("research.no-square-image")),
        (lambda: CNN(shape=(8, 9)).build(64, 10), coded("research.image-shape")),
        (lambda: CNN((2, 2, 2, 2)).build(64, 10), coded("research.images-too-small")),
        (lambda: CNN(shape=(64,)), parameter("shape")),
        (lambda: MLP(hidden=()), parameter("hidden")),
        (lambda: MLP(hidden=(3, 0)), parameter("hidden")),
        (lambda: build_module("logistic", 4, 2), parameter("model")),
        (lambda: build_module(Logistic, 4, 2), parameter("model")),
        (lambda: build_module(lambda width, classes: None, 4, 2), coded("research.model-function")),
        (lambda: FlatModel.of(nn.Linear(5, 2), 4, 2), coded("research.model-takes-other-rows")),
        (lambda: FlatModel.of(nn.Linear(4, 3), 4, 2), coded("research.model-gives-other-scores")),
        (lambda: FlatModel.of(nn.Linear(4, 2).requires_grad_(False), 4, 2), coded("research.model-without-weights")),
    ],
    ids=range(12),
)
def test_models_that_cannot_work_are_refused_with_the_remedy(make, check):
    with pytest.raises(SettingsError, check=check):
        make()


def test_running_statistics_are_refused_but_constant_buffers_and_group_norm_are_not():
    with pytest.raises(SettingsError, check=coded("research.model-changes-buffer")):
        run(lambda d, k: nn.Sequential(nn.Linear(d, 8), nn.BatchNorm1d(8), nn.Linear(8, k)), blobs([9]))
    grouped = nn.Sequential(nn.Linear(4, 8), nn.GroupNorm(2, 8), nn.Linear(8, 3))
    grouped.register_buffer("constant", torch.ones(2))
    assert run(grouped, blobs([9]), FedAvg(rounds=1)).size == 4 * 8 + 8 + 16 + 8 * 3 + 3


def test_frozen_weights_stay_frozen():
    module = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
    module[0].requires_grad_(False)
    log = run(module, blobs([9]), FedAvg(rounds=1))
    assert log.size == 5 * 3 + 3
    assert log.head == (0, 3, 5, 15)


def test_a_module_keeps_its_own_weights_and_is_not_changed():
    module = nn.Linear(4, 3)
    before = torch.cat([weight.detach().reshape(-1).clone() for weight in module.parameters()])
    log = run(module, blobs([9]), FedAvg(rounds=1, seed=5))
    assert log.initial == pytest.approx(before.numpy())
    assert torch.equal(before, torch.cat([weight.detach().reshape(-1) for weight in module.parameters()]))
    assert (log.final != log.initial).any()


def test_a_class_of_modules_is_a_function_that_makes_one():
    class Own(nn.Module):
        def __init__(self, width, classes):
            super().__init__()
            self.last = nn.Linear(width, classes, bias=False)

        def forward(self, rows):
            return self.last(rows).tanh()

    log = run(Own, blobs([9]), FedAvg(rounds=1))
    assert log.head == (0, 3, 4, -1)


def test_the_head_is_the_last_linear_layer():
    flat = FlatModel.of(MLP((5,)), 4, 3)
    module = MLP((5,)).build(4, 3)
    rows = flat.head.rows(flat.initial.numpy())
    assert rows[:, :-1] == pytest.approx(module[-1].weight.detach().numpy())
    assert rows[:, -1] == pytest.approx(module[-1].bias.detach().numpy())
    convolutions = nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 4), nn.Flatten())
    assert FlatModel.of(convolutions, 4, 3).head is None


def test_importing_the_package_does_not_import_torch():
    code = "import sys, fedbary_lab.training; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=600).returncode == 0


def test_missing_torch_is_one_sentence_with_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SettingsError, check=coded("research.torch-missing")):
        run(Logistic(), blobs([5]))
    with pytest.raises(SettingsError, check=coded("research.torch-missing")):
        Logistic().build(4, 2)
