"""Which rows are wrong where nobody has a clean one: clients of 300 rows that are all spoilt, valued by their cards.

Rows of `detection`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import NOISES, SKEWS, Spoilt, split_dataset
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots, stacked

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

DATASETS = ("fashion-mnist", "cifar10-embeddings", "dry-bean", "mnist")
CLIENTS = (5, 10)
SPOILT_BY = ("labels 10 %", "features 0.5 σ", "features 1 σ")
SEEDS = 5
# Set aside, so that cards and references (`cards`) are compared on these very clients.
LARGEST_REFERENCE = 2000
SCORE, VALUE = "cards, score", "cards, value"
KEYS = ("dataset", "noise", "clients", "alpha", "method")
# Measured before cards were built (two draws): data set, clients, α → AUROC of wrong labels by label score.
MEASURED_BEFORE = {
    ("fashion-mnist", 5, "0.1"): 0.989,
    ("cifar10-embeddings", 5, "0.1"): 0.977,
    ("fashion-mnist", 5, "1"): 0.985,
    ("cifar10-embeddings", 5, "1"): 0.959,
    ("fashion-mnist", 10, "0.1"): 0.995,
    ("cifar10-embeddings", 10, "0.1"): 0.990,
    ("fashion-mnist", 10, "∞"): 0.978,
    ("cifar10-embeddings", 10, "∞"): 0.965,
}
MARGIN = 0.005
ARCHIVE = "What the protocol before cards had on the same draws is [archived](../decisions/051-old-consensus.md)."


@dataclass(frozen=True)
class FederationCell:
    """One federation without a reference; the same share of rows is spoilt in every client."""

    dataset: str
    clients: int
    alpha: str
    noise: str
    seed: int
    rows: int = 300
    reference_rows: int = LARGEST_REFERENCE

    def __str__(self) -> str:
        return f"cards, {self.dataset}, {self.clients} clients, α = {self.alpha}, {self.noise}, seed {self.seed}"


def cells(smoke: bool) -> list[FederationCell]:
    """Data sets × clients × skew × noise × seeds; the smoke test has one federation of few digits."""
    if smoke:
        return [FederationCell("digits", 5, "1", "labels 10 %", 0, rows=100, reference_rows=400)]
    return [
        FederationCell(dataset, clients, alpha, noise, seed)
        for dataset in DATASETS
        for seed in range(SEEDS)
        for clients in CLIENTS
        for alpha in SKEWS
        for noise in SPOILT_BY
    ]


def compute(cell: FederationCell) -> list[Record]:
    """A record for each of score and value: the mean AUROC of the clients."""
    clients = spoilt_clients(cell)
    return [{"method": method, **found} for method, found in found_rows(clients, cell, fb.Cards()).items()]


def spoilt_clients(cell: FederationCell) -> dict[str, Spoilt]:
    """The clients, no two of which share a row."""
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    kind, share, sigma = NOISES[cell.noise]
    seed = 100_000 * (cell.seed + 1)
    rows = data.disjoint_rows([cell.rows] * cell.clients, SKEWS[cell.alpha], seed=seed)
    return {
        f"client_{place + 1}": data.client(mine, kind, share, sigma=sigma, seed=seed + place)
        for place, mine in enumerate(rows)
    }


def found_rows(clients: Mapping[str, Spoilt], cell: FederationCell, protocol: fb.Cards) -> dict[str, Record]:
    """How well the score of this kind of noise, and the value, find the spoilt rows of a federation."""
    engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
    tables = {name: client.table for name, client in clients.items()}
    result = fb.value(tables, protocol=protocol, seed=cell.seed, engine=engine)
    score = "label_score" if cell.noise.startswith("labels") else "feature_score"
    rows = {name: result.rows(name) for name in clients}
    return {
        method: {
            "auroc": float(np.mean([auroc(client.mask, sign * rows[name][column]) for name, client in clients.items()]))
        }
        for method, column, sign in ((SCORE, score, 1.0), (VALUE, "value", -1.0))
    }


def auroc(mask: NDArray[np.bool_], score: pd.Series) -> float:
    """The area under the curve; rows without a score, of which nothing is said, stand in the middle."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(mask, score.astype(float).fillna(score.median())))


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, the floors beside them, and what misses a floor."""
    ours = mean_and_spread(records.astype({"clients": int}), KEYS, ["auroc"])
    shown = ours[list(KEYS[:-1])].drop_duplicates()
    floor = {place: _floor(*place) for place in shown.itertuples(index=False, name=None)}
    least = [floor[place] for place in ours[list(KEYS[:-1])].itertuples(index=False, name=None)]
    ours = ours.assign(auroc_missed=(ours["method"] == SCORE) & (ours["auroc"] < least))
    asked = shown.assign(method="floor", auroc=list(floor.values()), auroc_sd=np.nan, seeds=1, errors=0, error="")
    return stacked([ours, asked.dropna(subset="auroc")])


def _floor(dataset: str, noise: str, clients: int, alpha: str) -> float:
    """What the score must reach: what was measured before for wrong labels, and nothing elsewhere."""
    return MEASURED_BEFORE.get((dataset, clients, alpha), np.nan) - MARGIN if noise.startswith("labels") else np.nan


def markdown(final: pd.DataFrame) -> str:
    """How many cells reach their floor, then one table per data set."""
    ours = final[final["method"] == SCORE]
    missed = ours[ours["auroc_missed"]]
    header = ["noise", "cells", "mean AUROC by score", "lowest", "cells below their floor"]
    rows = [
        [
            str(noise),
            str(len(group)),
            number(group["auroc"].mean()),
            number(group["auroc"].min()),
            str(int(group["auroc_missed"].sum())),
        ]
        for noise, group in ours.groupby("noise", sort=False)
    ]
    blocks = final.assign(block=final["dataset"] + ", no reference", clients=final["clients"].astype(int))
    return (
        "## Without a reference and without a clean client\n\n"
        "5 and 10 clients of 300 rows, no two with a row in common; 10 % of the rows of *every* client are spoilt. The "
        "mean AUROC of the clients, by the score of this kind of noise and by `value`, which does not know the kind. "
        f"The floor is what was measured before cards were built, less {MARGIN}. Rows of which a method says nothing "
        f"stand in the middle. {ARCHIVE}\n\n"
        + markdown_table(header, rows)
        + "\n\n"
        + "".join(
            f"- {row['dataset']}, {row['noise']}, {row['clients']:.0f} clients, "
            f"α = {row['alpha']}: {number(row['auroc'])}\n"
            for row in missed.to_dict("records")
        )
        + "\n"
        + pivots(
            blocks,
            by="block",
            down=["noise", "clients", "alpha"],
            across="method",
            titles={"auroc": "mean AUROC of the clients, spoilt against other rows"},
        )
    )
