"""The paper's "Boost FL Model": how good a federated model becomes once flagged rows are dropped or relabelled.

5000 training rows for five clients, 500 of them spoilt, 1000 validation and 1000 test rows at the server. The spoilt
rows are spread over all clients, as in the paper, or all in one client, half of whose rows are then wrong. *oracle*
leaves out exactly the spoilt rows, as perfect flags would; *clean* trains on the same rows before they were spoilt. The
paper's rule drops every row with a positive calibrated gradient. The step of 0.03 is the one of 0.1, 0.03 and 0.01 that
does best on *clean*: with 0.1, accuracies move by several points with the size of an epoch's last mini-batch.
The federation of `boost_clients` comes along: there whole clients are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary.research.experiments import boost_clients
from fedbary.research.experiments.boost_clients import Chosen
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import Spoilt, split_dataset
from fedbary.research.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary.research.training.fedavg_settings import FedAvg
from fedbary.research.training.models import MLP, Logistic, Model
from fedbary.space.labels import class_names

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("cifar10-embeddings", "fashion-mnist")
NOISES = {"labels": "labels", "features 1 σ": "features"}
SPREADS = ("in all clients", "in one client")
MODELS: dict[str, Model] = {"logistic": Logistic(), "mlp": MLP()}
FLAGS: dict[str, dict[str, Any]] = {
    "split": {"calibration": "split"},
    "crossfit": {},
    "paper's rule": {"protocol": "interpolation", "rule": "sign"},
}
# Column of the table → whose flags, and what is done about them.
WAYS = {
    "drop": ("crossfit", "drop"),
    "relabel": ("crossfit", "relabel"),
    "drop, split": ("split", "drop"),
    "relabel, split": ("split", "relabel"),
    "drop, paper's rule": ("paper's rule", "drop"),
}
JUDGED = ("flagged", "recall", "precision", "mended")
METRICS = ("accuracy", "gain", *JUDGED, *boost_clients.CHOICE)


@dataclass(frozen=True)
class Cell:
    """Every way of acting, with every model, on one draw of spoilt clients."""

    dataset: str
    noise: str
    spread: str
    seed: int
    clients: int = 5
    rows: int = 1000
    noisy: int = 500
    server_rows: int = 1000
    rounds: int = 50
    learning_rate: float = 0.03

    def __str__(self) -> str:
        return f"{self.dataset}, {self.noise} {self.spread}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell | Chosen]:
    """All cells; for a smoke test two noises of digits with two clients, and one choice of clients."""
    if smoke:
        small = {"clients": 2, "rows": 120, "noisy": 40, "server_rows": 300, "rounds": 2}
        return [*(Cell("digits", noise, SPREADS[1], 0, **small) for noise in NOISES), *boost_clients.cells(smoke)]
    return [
        *(Cell(*choice) for choice in product(DATASETS, NOISES, SPREADS, range(5))),
        *boost_clients.cells(smoke),
    ]


def compute(cell: Cell | Chosen) -> list[Record]:
    """Accuracy of each model after each way of acting, and how right the flags or the choice were."""
    if isinstance(cell, Chosen):
        return boost_clients.compute(cell)
    draw = drawn(cell)
    tables = {name: client.table for name, client in draw.spoilt.items()}
    oracle = {name: client.table.take(~client.mask) for name, client in draw.spoilt.items()}
    engine = fb.LocalEngine(workers=1)
    flags = {
        name: fb.value(tables, draw.reference, seed=cell.seed, engine=engine, **options)
        for name, options in FLAGS.items()
    }
    judged = {way: _judged(draw.spoilt, flags[whose], how) for way, (whose, how) in WAYS.items()}
    records = []
    for name, model in MODELS.items():
        found = {"none": draw.accuracy(model, tables, flags["split"], "none")}
        found |= {way: draw.accuracy(model, tables, flags[whose], how) for way, (whose, how) in WAYS.items()}
        found["oracle"] = draw.accuracy(model, oracle, flags["split"], "none")
        found["clean"] = draw.accuracy(model, draw.clean, flags["split"], "none")
        for way, reached in found.items():
            record: Record = {"model": name, "how": way, "accuracy": reached, **judged.get(way, {})}
            records.append(record | ({"gain": reached - found["none"]} if way != "none" else {}))
    return records


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds."""
    return mean_and_spread(records, ["dataset", "noise", "spread", "model", "how"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """Accuracy and gain of every way of acting, and what the flags were like."""
    titles = {
        "accuracy": "accuracy on test rows that neither valued nor trained anything",
        "gain": "gain over training on all rows, with the same seed",
    }
    chosen = final["spread"] == boost_clients.SPREAD
    final, choice = final[~chosen], final[chosen]
    text = pivots(final, by="dataset", down=["noise", "spread", "model"], across="how", titles=titles)
    shown = {way: whose for way, (whose, how) in WAYS.items() if how == "relabel" or whose not in ("split", "crossfit")}
    keys = ["dataset", "noise", "spread", "how"]
    flags = final[final["how"].isin(list(shown))].drop_duplicates(keys).replace({"how": shown}).to_dict("records")
    digits = {"flagged": 0, "recall": 2, "precision": 2, "mended": 2}
    rows = [
        [*(str(row[key]) for key in keys), *(number(row[m], row[f"{m}_sd"], digits[m]) for m in JUDGED)]
        for row in flags
    ]
    header = [*keys[:3], "flags", "rows flagged", "recall of spoilt rows", "precision", "right among new labels"]
    return (
        "# Acting on flags before training\n\nMean ± standard deviation over seeds. The standard error of one accuracy "
        f"on 1000 test rows is about 0.013.\n\n{text}\n## Flags\n\n{markdown_table(header, rows)}\n\n"
        f"{boost_clients.markdown(choice)}"
    )


@dataclass(frozen=True, eq=False)
class Draw:
    """The server's rows, the clients with their spoilt rows, the same clients before that, and how to train."""

    reference: fb.Table
    test: fb.Table
    spoilt: Mapping[str, Spoilt]
    clean: Mapping[str, fb.Table]
    training: FedAvg

    def accuracy(self, model: Model, clients: Mapping[str, fb.Table], valuation: fb.Valuation, how: str) -> float:
        """What a model reaches after acting on the flags of a valuation."""
        done = fb.boost(
            clients,
            self.reference,
            self.test,
            how=[how],
            valuation=valuation,
            model=model,
            training=self.training,
            threads=1,
        )
        return done.outcomes[how].accuracy


def drawn(cell: Cell) -> Draw:
    """Draw the rows of a cell."""
    data = split_dataset(cell.dataset, 2 * cell.server_rows, seed=cell.seed)
    reference, test = fb.partitions.by_size(data.reference, [cell.server_rows] * 2, seed=cell.seed).clients.values()
    rows = np.split(data.rows(cell.clients * cell.rows, np.inf, seed=cell.seed), cell.clients)
    wrong = [cell.noisy / cell.clients] * cell.clients
    if cell.spread == SPREADS[1]:
        wrong = [float(cell.noisy)] + [0.0] * (cell.clients - 1)
    spoilt = {
        f"client_{i + 1}": data.client(own, NOISES[cell.noise], wrong[i] / cell.rows, seed=100 * cell.seed + i)
        for i, own in enumerate(rows)
    }
    clean = {f"client_{i + 1}": data.pool.take(own) for i, own in enumerate(rows)}
    training = FedAvg(rounds=cell.rounds, learning_rate=cell.learning_rate, seed=cell.seed)
    return Draw(reference, test, spoilt, clean, training)


def _judged(spoilt: Mapping[str, Spoilt], result: fb.Valuation, how: str) -> Record:
    """How many rows are flagged, how right that is, and how right the labels are that replace theirs."""
    import pandas as pd

    rows = pd.concat([result.rows(name) for name in spoilt])
    flag = rows["flag"].to_numpy(dtype=bool)
    mask = np.concatenate([client.mask for client in spoilt.values()])
    record: Record = {"flagged": int(flag.sum()), "recall": float(flag[mask].mean())}
    if flag.any():
        record["precision"] = float(mask[flag].mean())
    if how == "relabel" and (changed := flag & (rows["reason"] == "label").to_numpy(dtype=bool)).any():
        truth = np.concatenate([class_names(client.truth) for client in spoilt.values()])
        record["mended"] = float((rows["suggested_label"].to_numpy(dtype=str) == truth)[changed].mean())
    return record
