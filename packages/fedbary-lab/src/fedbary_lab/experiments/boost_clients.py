"""Acting on the verdict: six clients, three of them with 70 % wrong labels, and a small CNN on Fashion-MNIST images.

All six train together; weighted by 1/distance, as the paper's shares are; by `Valuation.weights`; and only those that
`Valuation.select` names. *oracle* trains on the right rows of all six, as nobody could choose them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.boosting import trained_accuracy
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import markdown_table, number
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation, Rows
from fedbary_lab.training.models import CNN

if TYPE_CHECKING:
    import pandas as pd

SETTING, SPREAD = "clients", "70 % in three of six clients"
WAYS = ("all", "1/distance", "weighted", "selected", "oracle")
CHOICE = ("bad_weight", "right")


@dataclass(frozen=True)
class Chosen:
    """Every way of acting on one draw of six clients."""

    seed: int
    setting: str = SETTING
    dataset: str = "fashion-mnist"
    noise: str = "labels"
    spread: str = SPREAD
    clients: int = 6
    bad: int = 3
    wrong: float = 0.7
    rows: int = 300
    server_rows: int = 300
    test_rows: int = 2000
    rounds: int = 10
    local_epochs: int = 5
    learning_rate: float = 0.1

    def __str__(self) -> str:
        return f"{self.dataset}, {self.noise} {self.spread}, seed {self.seed}"


def cells(smoke: bool) -> list[Chosen]:
    """Five draws; for a smoke test one of digits."""
    if smoke:
        return [Chosen(0, dataset="digits", rows=60, test_rows=200, rounds=2, local_epochs=1)]
    return [Chosen(seed) for seed in range(5)]


def compute(cell: Chosen) -> list[Record]:
    """Accuracy after each way of acting, the weight of the three bad clients in it, and whether it knew them."""
    data = split_dataset(cell.dataset, cell.server_rows + cell.test_rows, seed=cell.seed)
    reference, test = fb.partitions.by_size(
        data.reference, [cell.server_rows, cell.test_rows], seed=cell.seed
    ).clients.values()
    rows = np.split(data.rows(cell.clients * cell.rows, np.inf, seed=cell.seed), cell.clients)
    spoilt = {
        f"client_{i + 1}": data.client(own, "labels", cell.wrong * (i < cell.bad), seed=100 * cell.seed + i)
        for i, own in enumerate(rows)
    }
    tables = {name: one.table for name, one in spoilt.items()}
    bad = [name for name, one in spoilt.items() if one.mask.any()]
    result = fb.value(tables, reference, seed=cell.seed, engine=fb.LocalEngine(workers=1))
    shares = result.clients.set_index("client")["share"].fillna(0.0).to_dict()
    equal = dict.fromkeys(tables, 1.0 / len(tables))
    selected = result.select()
    weights: dict[str, Mapping[str, float]] = {
        "all": equal,
        "1/distance": {str(name): float(share) for name, share in shares.items()},
        "weighted": result.weights(),
        "selected": {name: 1.0 / len(selected) for name in selected},
    }
    judge = Federation.from_tables({"test": test}, reference).clients[0]
    training = FedAvg(cell.rounds, cell.local_epochs, learning_rate=cell.learning_rate, seed=cell.seed)
    found = {way: _accuracy(tables, chosen, reference, judge, training) for way, chosen in weights.items()}
    clean = {name: one.table.take(~one.mask) for name, one in spoilt.items()}
    by_rows = {name: float(len(table)) for name, table in clean.items()}
    found["oracle"] = _accuracy(clean, by_rows, reference, judge, training)
    right = float(set(selected) == set(tables) - set(bad))
    records: list[Record] = []
    for way in WAYS:
        record: Record = {"model": "cnn", "how": way, "accuracy": found[way], "gain": found[way] - found["all"]}
        if way in weights:
            record["bad_weight"] = sum(weights[way].get(name, 0.0) for name in bad)
        records.append(record | ({"right": right} if way == "selected" else {}))
    return records


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Accuracy and weight of the bad clients by way of acting, and how often exactly they were left out."""
    known: dict[str, float] = {}
    for row in final.to_dict("records"):
        way = f"clients_{str(row['how']).replace('/', '_over_')}"
        known |= {f"{way}_accuracy": row["accuracy"], f"{way}_gain": row["gain"]}
        known |= {f"{way}_bad_weight": row["bad_weight"], f"{way}_right": row["right"]}
    return known


def markdown(final: pd.DataFrame) -> str:
    """One line for each way of acting."""
    header = ["trained on", "accuracy", "gain over all", "weight of the bad clients"]
    rows = [
        [str(row["how"]), *(number(row[name], row[f"{name}_sd"]) for name in ("accuracy", "gain", "bad_weight"))]
        for row in final.to_dict("records")
    ]
    right = final.loc[final["how"] == "selected", "right"].mean()
    return (
        "## Acting on the verdict\n\nSix clients of 300 images, three of them with 70 % wrong labels; 300 reference "
        f"rows; a small CNN. The three bad clients, and nobody else, were left out in {100 * right:.0f} % of draws.\n\n"
        f"{markdown_table(header, rows)}\n"
    )


def _accuracy(
    tables: Mapping[str, fb.Table], weights: Mapping[str, float], reference: fb.Table, judge: Rows, training: FedAvg
) -> float:
    """What a CNN reaches with these weights of the clients; a client that weighs nothing does not train."""
    counted = {name: round(1e6 * weight) for name, weight in weights.items()}
    chosen = {name: tables[name] for name, count in counted.items() if count > 0}
    federation = Federation.from_tables(chosen, reference)
    return trained_accuracy(
        CNN(), federation, judge, training, weights=[counted[name] for name in federation.names], threads=1
    )
