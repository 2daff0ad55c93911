"""`FedAvg`: how a federation trains, as a user asks for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import get_args

from fedbary.errors import SettingsError
from fedbary.research.training.backend import Precision


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
    >>> FedAvg(rounds=5).learning_rate
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
        for name, least in (
            ("rounds", 1),
            ("local_epochs", 1),
            ("batch_size", 1),
            ("clients_per_round", 1),
            ("seed", 0),
        ):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
            if not whole and not (name == "clients_per_round" and value is None):
                raise SettingsError(
                    f"The '{name}' parameter of FedAvg must be a whole number from {least}. Got {value!r} instead."
                )
        rate = self.learning_rate
        if not isinstance(rate, Real) or not 0.0 < rate < math.inf:
            raise SettingsError(f"The 'learning_rate' parameter of FedAvg must be positive. Got {rate!r} instead.")
        if not isinstance(self.momentum, Real) or not 0.0 <= self.momentum < 1.0:
            raise SettingsError(
                f"The 'momentum' parameter of FedAvg must lie in [0, 1). Got {self.momentum!r} instead."
            )
        if self.dtype not in get_args(Precision):
            raise SettingsError(
                f"The 'dtype' parameter of FedAvg must be one of float32, float64. Got {self.dtype!r} instead."
            )
