"""Which clients are cleaner: rank correlation of distance, excess and quality with the true share of spoilt rows.

Twenty clients with 0 to 40 % spoilt rows, of equal and of mixed size, with and without label skew. 1 is the right
order, 0 none. What differential privacy leaves of it is in `privacy`. The federations of `wrong_label_shares` come
along, in which no reference tells wrong labels from right ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.experiments import wrong_label_shares
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import SplitDataset, split_dataset
from fedbary_lab.experiments.tables import mean_and_spread, pivots, stacked
from fedbary_lab.experiments.wrong_label_shares import SharesCell

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("fashion-mnist", "cifar10-embeddings")
MOST_NOISE = 0.4
METRICS = ("distance", "excess", "quality")


@dataclass(frozen=True)
class Cell:
    """All federations of one draw, valued in one run."""

    dataset: str
    seed: int
    reference_rows: int = 2000
    clients: int = 20
    equal_rows: int = 300
    least_rows: int = 50
    most_rows: int = 1000

    def __str__(self) -> str:
        return f"{self.dataset}, seed {self.seed}"


@dataclass(frozen=True)
class Federation:
    """What the clients of a federation have in common."""

    noise: str
    sizes: str
    alpha: float

    def __str__(self) -> str:
        return f"{self.noise}, {self.sizes}, {self.alpha:g}"


FEDERATIONS = tuple(
    Federation(*choice) for choice in product(("labels", "features"), ("equal", "mixed"), (0.1, 1.0, np.inf))
)


def cells(smoke: bool) -> list[Cell | SharesCell]:
    """Data sets × seeds, with and without a reference; the smoke test has five clients of few digits."""
    without = wrong_label_shares.cells(smoke)
    if smoke:
        return [Cell("digits", 0, 300, 5, 60, 40, 120), *without]
    return [*(Cell(dataset, seed) for dataset in DATASETS for seed in range(3)), *without]


def compute(cell: Cell | SharesCell) -> list[Record]:
    """One record per federation: Spearman correlation of each number with the share of spoilt rows."""
    if isinstance(cell, SharesCell):
        return wrong_label_shares.compute(cell)
    from scipy.stats import spearmanr

    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    clients = {
        f"{federation}/{number}": client
        for federation in FEDERATIONS
        for number, client in enumerate(_clients(cell, data, federation))
    }
    # Of the sketch a client's numbers are its own, whoever else is in the run.
    result = fb.value(
        clients,
        data.reference,
        protocol=fb.Sketch(),
        seed=cell.seed,
        engine=fb.LocalEngine(workers=1),
    )
    frame = result.clients.assign(federation=[name.rpartition("/")[0] for name in result.clients["client"]])
    shares = _shares(cell)
    records = []
    for federation in FEDERATIONS:
        part = frame[frame["federation"] == str(federation)]
        alpha = f"{federation.alpha:g}" if np.isfinite(federation.alpha) else "∞"
        record: Record = {"noise": federation.noise, "sizes": federation.sizes, "alpha": alpha}
        failed = [result.failed[name] for name in part["client"] if name in result.failed]
        if failed:
            record["error"] = f"{len(failed)} clients failed, the first: {failed[0]}"
        for metric, sign in zip(METRICS, (1, 1, -1), strict=True):
            known = part[metric].to_numpy(dtype=float)
            if np.isfinite(known).all() and np.ptp(known) > 0:
                record[metric] = sign * float(spearmanr(shares, known)[0])
        records.append(record)
    return records


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, one row per number that ranks the clients."""
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "sizes", "kind"])])
    without = records["kind"].notna()
    tables = ((_with_reference, ~without), (wrong_label_shares.table, without))
    return stacked([final(records[mine].reset_index(drop=True)) for final, mine in tables if mine.any()])


def _with_reference(records: pd.DataFrame) -> pd.DataFrame:
    keys = ["dataset", "noise", "sizes", "alpha", "ranked_by"]
    parts = [
        mean_and_spread(records.assign(spearman=records.get(metric), ranked_by=metric), keys, ["spearman"])
        for metric in METRICS
    ]
    return stacked(parts)


def markdown(final: pd.DataFrame) -> str:
    """One table per data set: federations down, what ranks them across; then those without a reference."""
    final = final.reindex(columns=[*dict.fromkeys([*final.columns, "sizes", "method"])])
    text = "# Ranking of clients by cleanliness\n\nMean ± standard deviation over seeds.\n\n"
    without = final["method"].notna()
    if not without.all():
        titles = {"spearman": "Spearman correlation with the share of spoilt rows"}
        down = ["noise", "sizes", "alpha"]
        text += pivots(final[~without], by="dataset", down=down, across="ranked_by", titles=titles, digits=2)
    return text + (f"\n{wrong_label_shares.markdown(final[without])}" if without.any() else "")


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``quality_least``, ``distance_no_skew_most``, …: ranges of correlations; ``cards_…``: without a reference."""
    final = final.reindex(columns=[*dict.fromkeys([*final.columns, "sizes", "method"])])
    without = final["method"].notna()
    found: dict[str, float] = {}
    for metric, group in final[~without].groupby("ranked_by", sort=False):
        level = group[group["alpha"] == "∞"]
        for name, part in (
            (f"{metric}", group),
            (f"{metric}_no_skew", level),
            (f"{metric}_skew", group.drop(level.index)),
        ):
            found |= {f"{name}_least": part["spearman"].min(), f"{name}_most": part["spearman"].max()}
    return found | (wrong_label_shares.facts(final[without]) if without.any() else {})


def _clients(cell: Cell, data: SplitDataset, federation: Federation) -> Iterator[fb.Table]:
    sizes = np.full(cell.clients, cell.equal_rows)
    if federation.sizes == "mixed":  # in an order that has nothing to do with the noise
        spaced = np.linspace(cell.least_rows, cell.most_rows, cell.clients).astype(int)
        sizes = np.random.default_rng([cell.seed, 2]).permutation(spaced)
    for number, (rows, share) in enumerate(zip(sizes, _shares(cell), strict=True)):
        seed = 10_000 * (cell.seed + 1) + number
        chosen = data.rows(int(rows), federation.alpha, seed=seed)
        yield data.client(chosen, federation.noise, float(share), seed=seed).table


def _shares(cell: Cell) -> np.ndarray:
    return np.linspace(0.0, MOST_NOISE, cell.clients)
