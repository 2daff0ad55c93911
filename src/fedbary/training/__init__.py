"""Federated training and its log: what the methods that need trained models work on. PyTorch is optional."""

from fedbary.training.data import Federation, Rows
from fedbary.training.evaluate import Evaluator
from fedbary.training.fedavg import run, train_coalitions
from fedbary.training.log import Head, Round, TrainingLog
from fedbary.training.models import CNN, MLP, Logistic, Model
from fedbary.training.settings import FedAvg

__all__ = [
    "CNN",
    "MLP",
    "Evaluator",
    "FedAvg",
    "Federation",
    "Head",
    "Logistic",
    "Model",
    "Round",
    "Rows",
    "TrainingLog",
    "run",
    "train_coalitions",
]
