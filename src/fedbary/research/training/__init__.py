"""Federated training and its log: what the methods that need trained models work on. PyTorch is optional."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbary.research.training.data import Federation, Rows
    from fedbary.research.training.evaluate import Evaluator
    from fedbary.research.training.fedavg import run, train_coalitions
    from fedbary.research.training.fedavg_settings import FedAvg
    from fedbary.research.training.log import Head, Round, TrainingLog
    from fedbary.research.training.models import CNN, MLP, Logistic, Model

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

# Imported when first used: settings must cost nothing where only their options are listed.
_HOMES = {
    "data": ("Federation", "Rows"),
    "evaluate": ("Evaluator",),
    "fedavg": ("run", "train_coalitions"),
    "fedavg_settings": ("FedAvg",),
    "log": ("Head", "Round", "TrainingLog"),
    "models": ("CNN", "MLP", "Logistic", "Model"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
