"""The paper's Table 2: how long it takes to value 5 to 100 clients, as ratios to our protocols, in one run.

Fashion-MNIST, 500 rows a client, 1000 reference rows, ten rounds, one thread, one process; once with logistic
regression, whose coalitions train as one batched matrix product, and for five clients also with a small convolutional
network. A method is given half a minute; where that does not suffice, its time is extrapolated from the time that an
evaluation took and from the evaluations that it needs (all 2^N coalitions; for sampled methods the permutations that
they make at the least, without truncation, or what they have made if that is more), and marked with ~. The training run
that is logged is not counted, as in the paper; training coalitions is.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary.errors import FedbaryError
from fedbary.research.baselines.clients import METHODS, prepare
from fedbary.research.baselines.clients.retrained import MOST_CLIENTS
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import split_dataset
from fedbary.research.experiments.tables import markdown_table, mean_and_spread
from fedbary.research.training.fedavg_settings import FedAvg
from fedbary.research.training.federation import Federation
from fedbary.research.training.models import CNN, Logistic, Model

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.protocols.messages import Settings
    from fedbary.research.baselines.clients import Setting
    from fedbary.views.plots import Display

TRAINED = ("exactfed", "gtg", "mr", "datasv")
OURS: dict[str, Settings] = {
    "sketch": fb.Sketch(),
    "sketch, S = 100": fb.Sketch(support=100),
    "interpolation, S = 100": fb.Interpolation(support=100),
    "interpolation, S = 500": fb.Interpolation(support=500, allow_reconstruction=True),
}
MODELS: dict[str, Model] = {"logistic": Logistic(), "cnn": CNN()}
BASE = "interpolation, S = 100"
_PATIENCE = 30.0
_LEAST_PERMUTATIONS = {"gtg": 31, "datasv": 101}
# Coalitions that are tried to see what one costs: one, and if that is quick, many at once.
_QUICK, _MANY = 1.0, 64


@dataclass(frozen=True)
class Cell:
    """All methods with one number of clients, one after the other."""

    clients: int
    model: str = "logistic"
    dataset: str = "fashion-mnist"
    rows: int = 500
    reference_rows: int = 1000
    rounds: int = 10
    patience: float = _PATIENCE
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.model}, N = {self.clients}"


def cells(smoke: bool) -> list[Cell]:
    """One cell for each number of clients, and one for the larger model."""
    if smoke:
        return [Cell(3, model, "digits", rows=40, reference_rows=100, rounds=2, patience=2.0) for model in MODELS]
    return [*(Cell(clients) for clients in (5, 10, 50, 100)), Cell(5, "cnn")]


def compute(cell: Cell) -> list[Record]:
    """Seconds of every method."""
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    # The data set has 20,000 rows or so: a hundred clients draw theirs with repetition.
    rng = np.random.default_rng(cell.seed)
    names = [f"client_{i}" for i in range(cell.clients)]
    tables = {name: data.pool.take(rng.choice(len(data.pool), cell.rows, replace=False)) for name in names}
    records: list[Record] = []
    some = dict(list(tables.items())[:2])
    for protocol in OURS.values():  # imports and caches are nobody's time
        fb.value(some, data.reference.take(np.arange(100)), protocol=protocol, seed=cell.seed)
    for name, protocol in OURS.items():
        started = time.perf_counter()
        fb.value(tables, data.reference, protocol=protocol, seed=cell.seed, engine=fb.LocalEngine(workers=1))
        records.append({"method": name, "seconds": time.perf_counter() - started, "estimated": False})
    federation = Federation.from_tables(tables, data.reference)
    training = FedAvg(rounds=cell.rounds, seed=cell.seed)
    prepared = prepare(
        federation,
        model=MODELS[cell.model],
        training=training,
        max_seconds=cell.patience,
        seed=cell.seed,
        threads=1,
    )
    return records + [_timed(name, prepared.setting, cell) for name in TRAINED]


def _timed(name: str, setting: Setting, cell: Cell) -> Record:
    """The method's time, or what it would be."""
    try:
        found = METHODS[name].compute(setting)
        if found.seconds < cell.patience:
            return {"method": name, "seconds": found.seconds, "evaluations": found.evaluations, "estimated": False}
        each = found.seconds / max(found.evaluations, 1)
    except FedbaryError:  # too many clients to begin with
        each = _seconds_of_one(name, setting, cell)
        found = None
    needed = max(_needed(name, cell), 0.0 if found is None else float(found.evaluations))
    return {"method": name, "seconds": each * needed, "evaluations": needed, "estimated": True}


def _needed(name: str, cell: Cell) -> float:
    """Evaluations that the method needs."""
    exact = 2.0**cell.clients
    games = 1 if METHODS[name].retrains else cell.rounds
    return games * min(exact, float(_LEAST_PERMUTATIONS.get(name, np.inf)) * cell.clients)


def _seconds_of_one(name: str, setting: Setting, cell: Cell) -> float:
    """Time of one evaluation, of a coalition of half of the clients."""
    half = np.random.default_rng(cell.seed).random((_MANY, cell.clients)).argsort(axis=1) < cell.clients // 2
    one = _seconds(name, setting, half[:1])
    return one if one > _QUICK else _seconds(name, setting, half) / _MANY


def _seconds(name: str, setting: Setting, coalitions: NDArray[np.bool_]) -> float:
    started = time.perf_counter()
    if METHODS[name].retrains:
        assert setting.retrain is not None
        setting.evaluate(setting.retrain(coalitions))
    else:
        setting.evaluate(coalitions / coalitions.sum(axis=1, keepdims=True) @ setting.log.rounds[0].models)
    return time.perf_counter() - started


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each method and number of clients."""
    return mean_and_spread(records, ["model", "clients", "method", "estimated"], ["seconds", "evaluations"])


def markdown(final: pd.DataFrame) -> str:
    """Ratios to the interpolation protocol with S = 100."""
    order = [*OURS, *TRAINED]
    rows = []
    for (model, clients), group in final.groupby(["model", "clients"], sort=False):
        found = {row["method"]: row for row in group.to_dict("records")}
        if BASE not in found:
            rows.append([str(model), str(clients), *["error"] * (len(order) + 1)])
            continue
        base = found[BASE]["seconds"]
        shown = [("~ " if found[name]["estimated"] else "") + _ratio(found[name]["seconds"] / base) for name in order]
        rows.append([str(model), str(clients), f"{base:.1f} s", *shown])
    return (
        "# Time to value N clients\n\n"
        f"Time of {BASE} (the paper's method), and of everything as a ratio to it; ~ marks what was extrapolated from "
        f"the time of an evaluation. exactFed is refused for more than {MOST_CLIENTS} clients.\n\n"
        + markdown_table(["model", "N", "time", *order], rows)
        + "\n"
        + "".join(f"\n- {error}" for error in final["error"] if error)
    )


def pictures(final: pd.DataFrame) -> list[Display]:
    """Seconds against the number of clients, measured ones only."""
    from fedbary.views.plots import curves

    measured = final[~final["estimated"].fillna(True).astype(bool) & final["seconds"].notna()]
    return [
        curves(
            measured[["model", "clients", "method", "seconds"]].reset_index(drop=True),
            x="clients",
            y="seconds",
            by="method",
            panel="model",
            title="Seconds to value N clients; what was extrapolated is left out.",
            labels={"clients": "clients N"},
            logarithmic=("x", "y"),
        )
    ]


def _ratio(value: float) -> str:
    return f"{value:.2g}" if 0.01 <= value < 1000 else f"{value:.0e}"
