"""The evaluator against scikit-learn's accuracy."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from torch import nn
from training_fixtures import blobs

from codes import coded
from fedbary.errors import SettingsError
from fedbary_lab.training.evaluate import Evaluator
from fedbary_lab.training.models import CNN, MLP, Logistic


@pytest.mark.parametrize("model", [Logistic(), MLP((5,)), CNN((2,))], ids=["logistic", "mlp", "cnn"])
def test_accuracy_is_that_of_scikit_learn(monkeypatch, model):
    monkeypatch.setattr("fedbary_lab.training.evaluate._ROWS_AT_A_TIME", 7)
    monkeypatch.setattr("fedbary_lab.training.flat_model._AT_A_TIME", 50_000)
    federation = blobs([5], width=16, tests=30)
    evaluator = Evaluator(model, federation.test, 3, dtype="float64", threads=2)
    weights = np.random.default_rng(0).standard_normal((9, evaluator.size)) / 4
    accuracy = evaluator.accuracy(weights)
    module = model.build(16, 3).double()
    for place, vector in enumerate(weights):
        nn.utils.vector_to_parameters(torch.tensor(vector), module.parameters())
        scores = module(torch.tensor(federation.test.features)).detach()
        assert accuracy[place] == pytest.approx(accuracy_score(federation.test.codes, scores.argmax(1)), abs=1e-12)


def test_dropout_is_off_when_models_are_judged():
    rows = blobs([5], tests=300).test
    evaluator = Evaluator(nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 3)), rows, 3)
    weights = np.random.default_rng(0).standard_normal((20, 15))
    assert (evaluator.accuracy(weights) == Evaluator(Logistic(), rows, 3).accuracy(weights)).all()


def test_no_vectors_have_no_accuracy():
    assert Evaluator(Logistic(), blobs([5]).test, 3).accuracy(np.zeros((0, 15))).shape == (0,)


@pytest.mark.parametrize(
    ("weights", "code"),
    [(np.zeros((2, 14)), "shape"), (np.zeros((1, 1, 15)), "shape"), ([[np.nan] * 15], "not-finite")],
    ids=["width", "shape", "nan"],
)
def test_weights_that_do_not_fit_are_refused(weights, code):
    with pytest.raises(SettingsError, check=coded(f"research.weights-{code}")):
        Evaluator(Logistic(), blobs([5]).test, 3).accuracy(weights)


def test_rows_with_more_classes_than_announced_are_refused():
    with pytest.raises(SettingsError, check=coded("research.class-code-too-large")):
        Evaluator(Logistic(), blobs([5]).test, 2)
