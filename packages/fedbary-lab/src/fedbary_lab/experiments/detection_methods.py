"""What `detection` compares: 16 spoilt clients to a draw, and every method that values their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary.notes import Note
from fedbary.protocols.messages import Settings
from fedbary_lab.baselines.logistic import Classifier
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.experiments.federations import NOISES, Rows, SplitDataset, Spoilt, split_dataset
from fedbary_lab.experiments.open_methods import OpenMethods
from fedbary_lab.paper import PaperInterpolation

if TYPE_CHECKING:
    import pandas as pd

Outcome = Mapping[str, "pd.DataFrame | Note"]

ALPHAS = (0.1, 0.3, 1.0, np.inf)
FDR = 0.1


@dataclass(frozen=True)
class Cell:
    """One method on all clients of one draw; ``used_rows`` of the reference, or all."""

    dataset: str
    seed: int
    method: str
    reference_rows: int
    client_rows: int
    peers: int
    peer_rows: int
    used_rows: int | None = None
    few: bool = False

    def __str__(self) -> str:
        used = f", {self.used_rows} reference rows" if self.used_rows else ""
        return f"{self.dataset}{used}, seed {self.seed}, {self.method}"


@dataclass(frozen=True, eq=False)
class Client:
    """One of the 16: its noise, its label skew, its rows of the pool and what became of them."""

    noise: str
    alpha: float
    rows: Rows
    spoilt: Spoilt

    @property
    def skew(self) -> str:
        """The Dirichlet parameter as a text."""
        return f"{self.alpha:g}" if np.isfinite(self.alpha) else "∞"


@dataclass(frozen=True, eq=False)
class Draw:
    """What a method is given: the clients, and the data set with the reference and the pool for peers."""

    cell: Cell
    data: SplitDataset
    clients: Mapping[str, Client]

    @property
    def tables(self) -> dict[str, fb.Table]:
        """The clients' tables by name."""
        return {name: client.spoilt.table for name, client in self.clients.items()}


def drawn(cell: Cell) -> Draw:
    """The clients of a cell, the same for every method."""
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    if cell.used_rows is not None:
        data = replace(data, reference=data.reference.take(np.arange(cell.used_rows)))
    noises, alphas = (("labels 10 %", "features 1 σ"), (1.0,)) if cell.few else (tuple(NOISES), ALPHAS)
    clients = {}
    for place, (noise, alpha) in enumerate(product(noises, alphas)):
        kind, share, sigma = NOISES[noise]
        rows = data.rows(cell.client_rows, alpha, seed=_seed(cell, place))
        spoilt = data.client(rows, kind, share, sigma=sigma, seed=_seed(cell, place))
        clients[f"{noise}, {alpha:g}"] = Client(noise, alpha, rows, spoilt)
    return Draw(cell, data, clients)


def _valued(protocol: Callable[..., Settings], **settings: Any) -> Callable[[Draw], Outcome]:
    """A method that is a protocol of fedbary: all clients in one run, so that the reference is fitted once."""

    def method(draw: Draw) -> Outcome:
        result = _value(draw.tables, draw.data.reference, protocol(**settings), draw.cell.seed)
        return {name: _rows(result, name) for name in draw.clients}

    return method


def _cards(draw: Draw) -> Outcome:
    """Without a reference: each client among clean peers that have its kind of label skew."""
    outcome: dict[str, pd.DataFrame | Note] = {}
    for place, (name, client) in enumerate(draw.clients.items()):
        taken, parties = client.rows, {"client": client.spoilt.table}
        for peer in range(draw.cell.peers):
            seed = _seed(draw.cell, 1000 + 100 * place + peer)
            rows = draw.data.rows(draw.cell.peer_rows, client.alpha, seed=seed, without=taken)
            taken = np.concatenate([taken, rows])
            parties[f"peer_{peer + 1}"] = draw.data.pool.take(rows)
        result = _value(parties, None, fb.Cards(), draw.cell.seed)
        outcome[name] = _rows(result, "client")
    return outcome


def _baseline(method: str) -> Callable[[Draw], Outcome]:
    """A method of other people, one client after the other."""

    def values(draw: Draw) -> Outcome:
        compute, reference = ROW_METHODS[method].compute, draw.data.reference
        return {name: compute(client, reference, seed=0) for name, client in draw.tables.items()}

    return values


def _logistic(draw: Draw) -> Outcome:
    """Like the baseline of that name, but fitted to the reference once for all clients."""
    classifier = Classifier.fit(draw.data.reference, seed=draw.cell.seed)
    return {name: classifier.values(client) for name, client in draw.tables.items()}


_COMPARED: dict[str, Callable[[Draw], Outcome]] = {
    "sketch": _valued(fb.Sketch, lower="triangle"),
    "cards": _cards,
    "paper γ": _valued(fb.Interpolation, gradient="gamma"),
    "paper η": _valued(fb.Interpolation, gradient="eta"),
    "exact dual": _valued(PaperInterpolation, gradient="access", rounds=1),
    "cleanlab": _baseline("cleanlab"),
    "KNN-Shapley": _baseline("knn-shapley"),
    "logistic": _logistic,
    "LAVA": _baseline("lava"),
    "LOO": _baseline("row-loo-loss"),
}
METHODS = OpenMethods(_COMPARED, _baseline)
OURS = ("sketch",)


def _value(clients: dict[str, fb.Table], reference: fb.Table | None, protocol: Any, seed: int) -> fb.Valuation:
    engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
    return fb.value(clients, reference, protocol=protocol, fdr=FDR, seed=seed, engine=engine)


def _rows(result: fb.Valuation, client: str) -> pd.DataFrame | Note:
    try:
        return result.rows(client)
    except fb.FedbaryError as error:  # a client that failed; the others count
        return error.note


def _seed(cell: Cell, number: int) -> int:
    return 100_000 * (cell.seed + 1) + number
