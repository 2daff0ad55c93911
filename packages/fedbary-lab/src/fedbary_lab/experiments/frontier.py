"""What ε costs cards: wrong labels found at home, and shares of them, for which rows, coordinates and ε.

Ten clients with label skew (Dirichlet 1), no clean row anywhere. In one federation every client has 10 % wrong labels,
and rows are ranked; in another ten have 0 to 45 %, one has nothing but wrong ones, and shares are estimated, by each
client from the model that it gets and by the server from the cards. The schema comes from 300 public rows. Noise comes
from the operating system, so the last digits differ from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.space.encode import encode, place
from fedbary.space.fit import public_schema
from fedbary.space.schema import Schema
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.federations import SplitDataset, Spoilt, split_dataset
from fedbary_lab.experiments.spoilt_federations import auroc
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary_lab.experiments.wrong_label_shares import agreement

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

EPSILONS = (0.0, 16.0, 8.0, 4.0, 2.0, 1.0)  # 0 stands for none
DELTA = 1e-6
PUBLIC_ROWS = 300
SYNTHETIC = "synthetic"
# Directions that are kept; 0: all columns as they are.
COORDINATES = {
    "dry-bean": (0, 8),
    "fashion-mnist": (8, 16, 32, 64),
    "cifar10-embeddings": (16, 64),
    "mnist": (32,),
    SYNTHETIC: (32,),
}
ROWS = dict.fromkeys(COORDINATES, (300, 800, 3000)) | {SYNTHETIC: (300, 3000, 30_000)}
# Draws, where there is a floor and elsewhere.
SEEDS, FEW_SEEDS = 5, 2
# DESIGN 2.5: AUROC by ε, before cards were built.
MEASURED_BEFORE = {
    ("dry-bean", 0, 800): (0.995, None, 0.995, 0.995, 0.994, 0.993),
    ("dry-bean", 0, 300): (0.994, None, 0.993, 0.992, 0.989, 0.974),
    ("fashion-mnist", 32, 800): (0.984, None, 0.982, 0.980, 0.977, 0.973),
    ("fashion-mnist", 32, 300): (0.977, None, 0.972, 0.969, 0.962, 0.936),
}
# ... and the least Spearman correlation of clients' own shares at ε = 1, by rows.
SHARES_BEFORE = {800: 0.96, 300: 0.64}
MARGIN = 0.01
KEYS = ("dataset", "coordinates", "rows", "epsilon")
METRICS = ("auroc", "own_spearman", "own_off", "told_spearman", "told_off")


@dataclass(frozen=True)
class Cell:
    """Two federations, valued with one ε."""

    dataset: str
    coordinates: int
    rows: int
    epsilon: float
    seed: int
    clients: int = 10

    def __str__(self) -> str:
        said = f"ε = {self.epsilon:g}" if self.epsilon else "no ε"
        return f"{self.dataset}, {self.coordinates or 'all'} coordinates, {self.rows} rows, {said}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × coordinates × rows × ε × seeds, the largest first; the smoke test has five clients of few digits."""
    if smoke:
        return [Cell("digits", 8, 100, epsilon, 0, clients=5) for epsilon in (0.0, 4.0)]
    return [
        Cell(dataset, coordinates, rows, epsilon, seed)
        for rows in sorted({rows for sizes in ROWS.values() for rows in sizes}, reverse=True)
        for dataset in COORDINATES
        if rows in ROWS[dataset]
        for coordinates in COORDINATES[dataset]
        for seed, epsilon in product(range(_seeds(dataset, coordinates, rows)), EPSILONS)
    ]


def compute(cell: Cell) -> list[Record]:
    """The mean AUROC of the clients, and how their shares of wrong labels agree with the truth."""
    data = _split(cell.dataset, cell.seed)
    schema = public_schema(data.reference, coordinates=cell.coordinates or "none", seed=cell.seed)
    alike = _clients(cell, data, np.full(cell.clients, 0.1), first=0)
    result = _valued({name: client.table for name, client in alike.items()}, schema, cell)
    found = [auroc(client.mask, result.rows(name)["label_score"]) for name, client in alike.items()]
    shares = np.append(np.linspace(0.0, 0.45, cell.clients), 1.0)
    unlike = _clients(cell, data, shares, first=100)
    result = _valued({name: client.table for name, client in unlike.items()}, schema, cell)
    own = np.array([_own_share(result, name) for name in unlike])
    record = {"auroc": float(np.mean(found)), **_agreement("own", shares, own)}
    if cell.epsilon:  # without ε the server is told what the clients find
        told = result.clients.set_index("client").loc[list(unlike), "wrong_labels"].to_numpy(dtype=float)
        record |= _agreement("told", shares, told)
    return [record]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, and which of them miss a floor."""
    final = mean_and_spread(records, KEYS, METRICS)
    places = list(final[list(KEYS)].itertuples(index=False, name=None))
    least = [_least(place) for place in places]
    rank = [_least_rank(place) for place in places]
    return final.assign(
        floor=least,
        auroc_missed=final["auroc"].to_numpy() < np.array(least),
        own_spearman_missed=final["own_spearman"].to_numpy() < np.array(rank),
        epsilon=[f"ε = {epsilon:g}" if epsilon else "no ε" for epsilon in final["epsilon"]],
        coordinates=[str(kept or "all") for kept in final["coordinates"]],
    )


def markdown(final: pd.DataFrame) -> str:
    """The floors, then one table per data set and number: coordinates and rows down, ε across."""
    titles = {
        "auroc": "mean AUROC of the clients, wrong against other labels, by label_score",
        "own_spearman": "clients' own shares of wrong labels: Spearman correlation with the truth",
        "own_off": "clients' own shares: mean difference from the truth, whatever the sign",
        "told_spearman": "shares that the server reads off the cards: Spearman correlation with the truth",
        "told_off": "shares that the server reads off the cards: mean difference, whatever the sign",
    }
    return (
        "# What ε costs cards\n\n"
        f"Ten clients, Dirichlet 1, no clean row; noise at every client, δ = {DELTA:g}, schema from {PUBLIC_ROWS} "
        "public rows; mean ± standard deviation over seeds. *AUROC*: 10 % wrong labels in every client. *Shares*: 0 to "
        "45 % in ten clients, and one without a right label; what the server reads off the cards is relative to the "
        "cleaner clients. Clients of 3,000 rows and more may have rows in common. *Synthetic* rows are Gaussian "
        "classes. Numbers that miss a floor are bold.\n\n"
        + _floors(final)
        + pivots(final, by="dataset", down=["coordinates", "rows"], across="epsilon", titles=titles)
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``auroc_dry_bean_all_300_eps_8``, ``own_spearman_…``, …: every number, by data set, coordinates, rows and ε."""
    return {
        fact_name(metric, *(row[key] for key in KEYS)): float(row[metric])
        for row in final.to_dict("records")
        for metric in METRICS
    }


def pictures(final: pd.DataFrame) -> list[Display]:
    """AUROC against ε, a line for each number of rows, a panel for each data set."""
    from fedbary_lab.plots import curves

    places = zip(final["dataset"], final["coordinates"], strict=True)
    shown = final[[_drawn(final, dataset) == coordinates for dataset, coordinates in places]]
    datasets = list(dict.fromkeys(final["dataset"]))
    place = shown["dataset"].map(lambda dataset: (dataset == SYNTHETIC, datasets.index(dataset)))
    shown = shown.assign(place=place).sort_values(["place", "rows"], ascending=[True, False], kind="stable")
    shown = shown.assign(
        client=[f"{rows:,} rows a client" for rows in shown["rows"]],
        epsilon=shown["epsilon"].str.removeprefix("ε = ").replace({"no ε": "none"}),
    )
    return [
        curves(
            shown[["dataset", "client", "epsilon", "auroc"]].reset_index(drop=True),
            x="epsilon",
            y="auroc",
            by="client",
            panel="dataset",
            name="frontier",
            title="What ε costs: wrong labels that ten clients find by cards, not one of them clean.",
            labels={"epsilon": "ε of every client", "auroc": "AUROC of wrong labels"},
        )
    ]


def _drawn(final: pd.DataFrame, dataset: str) -> str:
    """The coordinates that are shown of a data set: 32, or the first that there are."""
    there = [str(kept) for kept in final.loc[final["dataset"] == dataset, "coordinates"]]
    return "32" if "32" in there else there[0]


def _floors(final: pd.DataFrame) -> str:
    promised = final[final["floor"].notna()]
    rows = [
        [
            f"AUROC, {dataset}: what was measured before, less {MARGIN}",
            str(len(group)),
            number((group["auroc"] - group["floor"]).min() - MARGIN),
            str(int(group["auroc_missed"].sum())),
        ]
        for dataset, group in promised.groupby("dataset", sort=False)
    ]
    header = ["floor", "cells", "worst difference from what was measured before", "cells that miss it"]
    missed = final[final["auroc_missed"] | final["own_spearman_missed"]].to_dict("records")
    lines = [
        f"- {row['dataset']}, {row['coordinates']} coordinates, {row['rows']} rows, {row['epsilon']}: AUROC "
        f"{number(row['auroc'])}, Spearman of own shares {number(row['own_spearman'])}"
        for row in missed
    ]
    return "\n".join(["## Floors\n", markdown_table(header, rows), "", *lines, "", ""]) if rows else ""


def _seeds(dataset: str, coordinates: int, rows: int) -> int:
    return SEEDS if (dataset, coordinates, rows) in MEASURED_BEFORE else FEW_SEEDS


def _least(place: tuple[str, int, int, float]) -> float:
    dataset, coordinates, rows, epsilon = place
    before = MEASURED_BEFORE.get((dataset, coordinates, rows))
    measured = None if before is None or epsilon not in EPSILONS else before[EPSILONS.index(epsilon)]
    return np.nan if measured is None else measured - MARGIN


def _least_rank(place: tuple[str, int, int, float]) -> float:
    dataset, coordinates, rows, epsilon = place
    promised = (dataset, coordinates, rows) in MEASURED_BEFORE and epsilon == 1.0
    return SHARES_BEFORE[rows] - MARGIN if promised else np.nan


def _agreement(whose: str, shares: np.ndarray, found: np.ndarray) -> Record:
    if not np.isfinite(found).any():
        return {}
    named = {f"{whose}_{key}": value for key, value in agreement(shares, found).items()}
    return named | {f"{whose}_off": float(np.nanmean(np.abs(found - shares)))}


def _own_share(result: fb.Valuation, name: str) -> float:
    estimate = result.row_facts(name).wrong_labels
    return np.nan if estimate is None else estimate.share


def _clients(cell: Cell, data: SplitDataset, shares: np.ndarray, *, first: int) -> dict[str, Spoilt]:
    """Clients with these shares of wrong labels, without rows in common as long as there are enough."""
    seed, sizes = 300_000 * (cell.seed + 1) + first, [cell.rows] * len(shares)
    if 2 * sum(sizes) <= len(data.pool):
        rows = data.disjoint_rows(sizes, 1.0, seed=seed)
    else:
        rows = [data.rows(size, 1.0, seed=seed + place) for place, size in enumerate(sizes)]
    return {
        f"client_{place + 1}": data.client(mine, "labels", float(share), seed=seed + place)
        for place, (mine, share) in enumerate(zip(rows, shares, strict=True))
    }


def _valued(tables: Mapping[str, fb.Table], schema: Schema, cell: Cell) -> fb.Valuation:
    """The clients valued by cards in the schema's coordinates: private ones, or exact ones of the same coordinates."""
    engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
    if not cell.epsilon:
        points = {
            name: table.replace(columns={"x": place(encode(table, schema), schema)}) for name, table in tables.items()
        }
        return fb.value(points, protocol=fb.Cards(), seed=cell.seed, engine=engine)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "schema.json"
        schema.save(file)
        protocol = fb.Cards(epsilon=cell.epsilon, delta=DELTA, schema=str(file))
        return fb.value(tables, protocol=protocol, seed=cell.seed, engine=engine)


@lru_cache(maxsize=1)
def _split(dataset: str, seed: int) -> SplitDataset:
    return _synthetic(seed) if dataset == SYNTHETIC else split_dataset(dataset, PUBLIC_ROWS, seed=seed)


def _synthetic(seed: int, rows: int = 60_000) -> SplitDataset:
    """Ten Gaussian classes of 64 columns, each direction of which spreads less than the one before."""
    rng = np.random.default_rng([seed, 9])
    spread = 1.0 / np.sqrt(1.0 + np.arange(64))
    centres = 0.35 * spread * rng.standard_normal((10, 64))
    labels = rng.integers(0, 10, rows)
    points = centres[labels] + spread * rng.standard_normal((rows, 64))
    whole = fb.Table({"x": points}, labels)
    return SplitDataset(whole.take(np.arange(PUBLIC_ROWS)), whole.take(np.arange(PUBLIC_ROWS, rows)))
