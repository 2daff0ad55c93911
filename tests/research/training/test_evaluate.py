"""The evaluator against scikit-learn's accuracy and log-loss."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss
from torch import nn
from training_fixtures import blobs

from fedbary.errors import SettingsError
from fedbary.research.training import CNN, MLP, Evaluator, Logistic, Rows


@pytest.mark.parametrize("model", [Logistic(), MLP((5,)), CNN((2,))], ids=["logistic", "mlp", "cnn"])
def test_accuracy_and_loss_are_those_of_scikit_learn(monkeypatch, model):
    monkeypatch.setattr("fedbary.research.training.evaluate._ROWS_AT_A_TIME", 7)
    monkeypatch.setattr("fedbary.research.training.flat_model._AT_A_TIME", 50_000)
    federation = blobs([5], width=16, tests=30)
    evaluator = Evaluator.on_test(model, federation, dtype="float64", threads=2)
    weights = np.random.default_rng(0).standard_normal((9, evaluator.size)) / 4  # scikit-learn clips p < 1e-16
    accuracy, loss = evaluator.accuracy(weights), evaluator.loss(weights)
    module = model.build(16, 3).double()
    for place, vector in enumerate(weights):
        nn.utils.vector_to_parameters(torch.tensor(vector), module.parameters())
        scores = module(torch.tensor(federation.test.features)).detach()
        assert accuracy[place] == pytest.approx(accuracy_score(federation.test.codes, scores.argmax(1)), abs=1e-12)
        shares = torch.softmax(scores, dim=1).numpy()
        assert loss[place] == pytest.approx(log_loss(federation.test.codes, shares, labels=[0, 1, 2]), abs=1e-6)


def test_dropout_is_off_when_models_are_judged():
    federation = blobs([5])
    evaluator = Evaluator(nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 3)), federation.test, 3)
    weights = np.random.default_rng(0).standard_normal((2, 15))
    assert (evaluator.loss(weights) == evaluator.loss(weights)).all()
    assert evaluator.loss(weights) == pytest.approx(Evaluator(Logistic(), federation.test, 3).loss(weights))


def test_a_very_wrong_model_has_a_large_but_finite_loss():
    assert Evaluator(Logistic(), Rows([[1.0]], [0]), 2).loss([-1e4, 1e4, 0.0, 0.0]) == pytest.approx([2e4])


def test_no_vectors_have_no_accuracy():
    assert Evaluator(Logistic(), blobs([5]).test, 3).accuracy(np.zeros((0, 15))).shape == (0,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.zeros((2, 14)), "15 weights"), (np.zeros((1, 1, 15)), "15 weights"), ([[np.nan] * 15], "not finite")],
    ids=["width", "shape", "nan"],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(SettingsError, match=message):
        Evaluator(Logistic(), blobs([5]).test, 3).accuracy(weights)


def test_rows_with_more_classes_than_announced_are_refused():
    with pytest.raises(SettingsError, match="class code 2"):
        Evaluator(Logistic(), blobs([5]).test, 2)
