"""Federated training and its log: what the methods that need trained models work on. PyTorch is optional."""

from fedbary.research.training.evaluate import Evaluator
from fedbary.research.training.fedavg import run, train_coalitions
from fedbary.research.training.fedavg_settings import FedAvg
from fedbary.research.training.federation import Federation, Rows, trainable
from fedbary.research.training.models import CNN, MLP, Logistic, Model
from fedbary.research.training.training_log import Head, Round, TrainingLog

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
    "trainable",
]
