"""How wrong each client's labels are, told by the clients' cards alone: nobody has a clean row, one has no right label.

Rows of `ranking`. Ten clients of 300 rows have 0 to 45 % wrong labels, and one has nothing but wrong ones. The estimate
means labels that were replaced at random; pair flips and confusions with the class that looks most alike are shown
beside, with what is then said of a client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import SKEWS, split_dataset
from fedbary_lab.experiments.spoilt_federations import ARCHIVE, DATASETS, LARGEST_REFERENCE, SEEDS
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots

if TYPE_CHECKING:
    import pandas as pd

KINDS = {"labels": "any other class", "pairs": "the next class", "confusions": "the class most alike"}
LEAST_SPEARMAN, MOST_OFF, MOST_OFF_SKEWED = 0.97, 0.05, 0.08
KEYS = ("dataset", "noise", "alpha", "method")
CARDS = "cards, wrong_labels"
METRICS = ("spearman", "off", "random_last", "covered")
# The client of which the table quotes what is said.
QUOTED = 0.2


@dataclass(frozen=True)
class SharesCell:
    """One federation; ``kind`` says which wrong label a row gets."""

    dataset: str
    kind: str
    alpha: str
    seed: int
    clients: int = 10
    rows: int = 300
    reference_rows: int = LARGEST_REFERENCE

    def __str__(self) -> str:
        return f"cards, {self.dataset}, {self.kind}, α = {self.alpha}, seed {self.seed}"


def cells(smoke: bool) -> list[SharesCell]:
    """Data sets × kinds × skew × seeds; the smoke test has five clients of few digits."""
    if smoke:
        return [SharesCell("digits", "labels", "1", 0, clients=5, rows=100, reference_rows=400)]
    return [
        SharesCell(dataset, kind, alpha, seed)
        for dataset in DATASETS
        for seed in range(SEEDS)
        for kind in KINDS
        for alpha in SKEWS
    ]


def compute(cell: SharesCell) -> list[Record]:
    """How the estimates agree with the true shares, and what is said of the client with every fifth label wrong."""
    tables, shares = drawn(cell)
    result = fb.value(tables, protocol=fb.Cards(), seed=cell.seed, engine=fb.LocalEngine(workers=1))
    frame = result.clients.set_index("client").loc[list(tables)]
    found = frame["wrong_labels"].to_numpy(dtype=float)
    low, high = (frame[f"wrong_labels_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    quoted = next(name for name, share in zip(tables, shares, strict=True) if np.isclose(share, QUOTED, atol=0.03))
    opinion = next(opinion for opinion in result.verdict() if opinion.client == quoted)
    record = {
        "noise": KINDS[cell.kind],
        "method": CARDS,
        "off": float(np.abs(found - shares).mean()),
        "random_last": float(found.argmax() == shares.argmax()),
        "covered": float(np.mean((low <= shares) & (shares <= high))),
        "said": f"{opinion.advice.value}: {opinion.why}",
        **agreement(shares, found),
    }
    return [record]


def drawn(cell: SharesCell) -> tuple[dict[str, fb.Table], np.ndarray]:
    """The clients, no two of which share a row, and their shares of wrong labels; the last has no right one."""
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    shares = np.append(np.linspace(0.0, 0.45, cell.clients), 1.0)
    seed = 200_000 * (cell.seed + 1)
    rows = data.disjoint_rows([cell.rows] * len(shares), SKEWS[cell.alpha], seed=seed)
    tables = {
        f"client_{place + 1}": data.client(mine, cell.kind, float(share), seed=seed + place).table
        for place, (mine, share) in enumerate(zip(rows, shares, strict=True))
    }
    return tables, shares


def agreement(shares: np.ndarray, found: np.ndarray) -> Record:
    """Spearman correlation with the true shares, where every client has a number."""
    from scipy.stats import spearmanr

    if not np.isfinite(found).all() or np.ptp(found) == 0:
        return {}
    return {"spearman": float(spearmanr(shares, found)[0])}


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, and what misses a floor."""
    ours = mean_and_spread(records, KEYS, METRICS)
    said = records.groupby(list(KEYS), sort=False)["said"].agg(lambda texts: texts.mode().iloc[0]).reset_index()
    ours = ours.merge(said, on=list(KEYS), how="left")
    most = np.where(ours["alpha"] == "0.1", MOST_OFF_SKEWED, MOST_OFF)
    promised = ours["noise"] == KINDS["labels"]
    return ours.assign(
        spearman_missed=promised & (ours["spearman"] < LEAST_SPEARMAN),
        off_missed=promised & (ours["off"] > most),
        random_last_missed=promised & (ours["random_last"] < 1.0),
    )


def markdown(final: pd.DataFrame) -> str:
    """How many cells reach the floors, one table per data set, and what is said of a client with 20 % wrong labels."""
    titles = {
        "spearman": "Spearman correlation with the share of wrong labels",
        "off": "mean difference from it, whatever the sign",
        "random_last": "share of draws in which the client without a right label has the highest estimate",
        "covered": "share of clients whose interval holds their true share",
    }
    said = final.dropna(subset="said").drop_duplicates(["dataset", "noise"])
    quotes = [[str(row["dataset"]), str(row["noise"]), str(row["said"])] for row in said.to_dict("records")]
    return (
        "## Shares of wrong labels without a reference\n\n"
        "Ten clients of 300 rows with 0 to 45 % wrong labels and one with nothing but wrong ones; no reference. "
        "The estimate means labels replaced at random (*any other class*): where a wrong label is *the next class* or "
        f"*the class most alike* it is a lower bound. {ARCHIVE} Numbers that miss a floor are bold.\n\n"
        + _floors(final)
        + pivots(
            final.assign(block=final["dataset"] + ", no reference"),
            by="block",
            down=["noise", "alpha"],
            across="method",
            titles=titles,
        )
        + "\n**said of a client with every fifth label wrong (the most frequent sentence at α = 0.1)**\n\n"
        + markdown_table(["dataset", "wrong labels", "said"], quotes)
        + "\n"
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Of cards with labels replaced at random."""
    cards = final[final["noise"] == KINDS["labels"]]
    skewed = cards["alpha"] == "0.1"
    return {
        "cards_least": cards["spearman"].min(),
        "cards_most": cards["spearman"].max(),
        "cards_cells": len(cards),
        "cards_off_mean": cards.loc[~skewed, "off"].mean(),
        "cards_off_mean_skewed": cards.loc[skewed, "off"].mean(),
        "cards_off_worst_skewed": cards.loc[skewed, "off"].max(),
        "cards_not_last": float((cards["random_last"] < 1.0).sum()),
    }


def _floors(ours: pd.DataFrame) -> str:
    """What is promised of labels replaced at random, and how often it holds."""
    random = ours[ours["noise"] == KINDS["labels"]]
    skewed, other = random[random["alpha"] == "0.1"], random[random["alpha"] != "0.1"]
    rows = [
        _floor(f"Spearman at least {LEAST_SPEARMAN}", random, "spearman", random["spearman"].min()),
        _floor(f"mean difference at most {MOST_OFF} (α ≥ 1)", other, "off", other["off"].max()),
        _floor(f"mean difference at most {MOST_OFF_SKEWED} (α = 0.1)", skewed, "off", skewed["off"].max()),
        _floor("the client without a right label last", random, "random_last", random["random_last"].min()),
    ]
    return markdown_table(["floor", "cells", "mean", "worst", "cells that miss it"], rows) + "\n\n"


def _floor(what: str, cells: pd.DataFrame, metric: str, worst: float) -> list[str]:
    missed = int(cells[f"{metric}_missed"].sum())
    return [what, str(len(cells)), number(cells[metric].mean()), number(worst), str(missed)]
