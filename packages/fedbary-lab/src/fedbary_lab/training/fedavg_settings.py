"""`FedAvg`: how a federation trains, as a user asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import get_args

from fedbary.checks import number, whole
from fedbary.errors import wrong_parameter
from fedbary_lab.training.backend import Precision


@dataclass(frozen=True)
class FedAvg:
    """Settings of federated averaging (McMahan et al. 2017).

    Parameters
    ----------
    rounds : int
        Times that the server averages the clients' models.
    local_epochs : int
        Passes of a client over its rows in each round.
    batch_size : int
        Rows of a mini-batch.
    learning_rate : float
        Step of the clients' stochastic gradient descent.
    clients_per_round : int, optional
        Clients that train in a round, drawn by the seed. Default: all of them. So do all where there are fewer.
    momentum : float
        Momentum of the clients' descent; it starts anew in each round.
    dtype : {"float32", "float64"}
        Precision of the weights.
    seed : int
        Of initial weights, mini-batches and drawn clients.

    Examples
    --------
    >>> import fedbary as fb
    >>> fb.FedAvg(rounds=5).learning_rate
    0.1
    """

    rounds: int = 10
    local_epochs: int = 1
    batch_size: int = 64
    learning_rate: float = 0.1
    clients_per_round: int | None = None
    momentum: float = 0.0
    dtype: Precision = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("rounds", "local_epochs", "batch_size"):
            whole(getattr(self, name), name, "FedAvg", least=1)
        if self.clients_per_round is not None:
            whole(self.clients_per_round, "clients_per_round", "FedAvg", least=1)
        whole(self.seed, "seed", "FedAvg", least=0)
        number(self.learning_rate, "learning_rate", "FedAvg")
        if not isinstance(self.momentum, Real) or not 0.0 <= self.momentum < 1.0:
            raise wrong_parameter("momentum", "FedAvg", "a number in [0, 1)", self.momentum)
        if self.dtype not in get_args(Precision):
            raise wrong_parameter("dtype", "FedAvg", "one of float32, float64", self.dtype)
