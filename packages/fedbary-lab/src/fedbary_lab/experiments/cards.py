"""Cards against references: what the cards of clients that all have wrong labels find, beside clean rows.

Every client has 300 rows, every tenth with a wrong label. The rows of the same five clients are judged by the cards of
5 to 50 clients, and by the sketch of 100 to 2000 clean reference rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import SKEWS, SplitDataset, Spoilt, split_dataset
from fedbary_lab.experiments.spoilt_federations import DATASETS, LARGEST_REFERENCE, SEEDS, auroc
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, pivots

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

CLIENTS = (5, 10, 20, 50)
REFERENCES = (100, 300, 1000, LARGEST_REFERENCE)
WRONG = 0.1
JUDGED = 5
METRICS = ("label_score", "value")


@dataclass(frozen=True)
class Cell:
    """The five clients of one draw, judged by the cards of ``clients`` or by ``reference_rows`` clean rows."""

    dataset: str
    alpha: str
    seed: int
    clients: int | None = None
    reference_rows: int | None = None
    rows: int = 300
    set_aside: int = LARGEST_REFERENCE

    @property
    def judge(self) -> str:
        """Who judges, as the table prints it."""
        return f"{self.reference_rows} reference rows" if self.clients is None else f"{self.clients} cards"

    def __str__(self) -> str:
        return f"{self.dataset}, α = {self.alpha}, {self.judge}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × skew × judges × seeds; the smoke test has few digits."""
    if smoke:
        small = {"rows": 100, "set_aside": 300}
        return [Cell("digits", "1", 0, clients=5, **small), Cell("digits", "1", 0, reference_rows=100, **small)]
    judges = [*({"clients": count} for count in CLIENTS), *({"reference_rows": count} for count in REFERENCES)]
    return [
        Cell(dataset, alpha, seed, **judge)
        for dataset in DATASETS
        for seed in range(SEEDS)
        for alpha in SKEWS
        for judge in judges
    ]


def compute(cell: Cell) -> list[Record]:
    """The mean AUROC of the five clients' wrong labels, or nothing where the data set has not so many rows."""
    data = split_dataset(cell.dataset, cell.set_aside, seed=cell.seed)
    if cell.rows * (cell.clients or JUDGED) > len(data.pool):
        return []
    clients = _clients(cell, data, cell.clients or JUDGED)
    tables = {name: client.table for name, client in clients.items()}
    reference = None if cell.clients else data.reference.take(np.arange(cell.reference_rows or 0))
    protocol = fb.Sketch(lower="triangle") if reference is not None else fb.Cards()
    result = fb.value(tables, reference, protocol=protocol, seed=cell.seed, engine=fb.LocalEngine(workers=1))
    judged = list(clients)[:JUDGED]
    rows = {name: result.rows(name) for name in judged}
    return [
        {
            "judge": cell.judge,
            "label_score": float(np.mean([auroc(clients[name].mask, rows[name]["label_score"]) for name in judged])),
            "value": float(np.mean([auroc(clients[name].mask, -rows[name]["value"]) for name in judged])),
        }
    ]


def _clients(cell: Cell, data: SplitDataset, count: int) -> dict[str, Spoilt]:
    seed = 300_000 * (cell.seed + 1)
    rows = data.disjoint_rows([cell.rows] * count, SKEWS[cell.alpha], seed=seed)
    return {
        f"client_{place + 1}": data.client(mine, "labels", WRONG, seed=seed + place) for place, mine in enumerate(rows)
    }


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds."""
    return mean_and_spread(records, ["dataset", "alpha", "judge"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """How often cards are ahead of which reference, then one table per data set: skew down, judges across."""
    titles = {"label_score": "mean AUROC of wrong labels by label score", "value": "the same by value"}
    return (
        "# Cards against references\n\nMean ± standard deviation over seeds. The rows of the same five clients of 300 "
        "rows, of which every tenth has a wrong label, judged by the cards of 5 to 50 such clients, not one of them "
        "clean, or by the sketch of 100 to 2000 clean rows.\n\n"
        + _ahead(final)
        + pivots(final, by="dataset", down=["alpha"], across="judge", titles=titles)
    )


def _ahead(final: pd.DataFrame) -> str:
    """In how many settings so many cards find wrong labels better than so many clean rows, by label score."""
    wide = final.pivot_table(index=["dataset", "alpha"], columns="judge", values="label_score", sort=False)
    judges = [str(judge) for judge in wide]
    cards, references = ([judge for judge in judges if judge.endswith(kind)] for kind in ("cards", "reference rows"))
    rows = [[few, *(_count(wide, few, other) for other in references)] for few in cards]
    header = ["ahead of", *references]
    return f"## In how many settings cards are ahead\n\n{markdown_table(header, rows)}\n\n"


def _count(wide: pd.DataFrame, one: str, other: str) -> str:
    ahead, compared = _ahead_of(wide, one, other)
    return f"{ahead} of {compared}"


def _ahead_of(wide: pd.DataFrame, one: str, other: str) -> tuple[int, int]:
    both = wide[[one, other]].dropna()
    return int((both[one] > both[other]).sum()), len(both)


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``cards_5_ahead_100`` of ``cards_5_beside_100`` settings, and ``clean_1000_ahead_50`` the other way round."""
    wide = final.pivot_table(index=["dataset", "alpha"], columns="judge", values="label_score", sort=False)
    found: dict[str, float] = {}
    for cards, rows in product(CLIENTS, REFERENCES):
        judges = f"{cards} cards", f"{rows} reference rows"
        if all(judge in wide for judge in judges):
            ahead, compared = _ahead_of(wide, *judges)
            found |= {f"cards_{cards}_ahead_{rows}": ahead, f"cards_{cards}_beside_{rows}": compared}
            found[f"clean_{rows}_ahead_{cards}"] = _ahead_of(wide, *reversed(judges))[0]
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """The picture of the README, at α = 1."""
    return [picture(final)]


def picture(final: pd.DataFrame, alpha: str = "1") -> Display:
    """AUROC of cards against the number of clients, and of references, which do not depend on it, as level lines."""
    import pandas as pd

    from fedbary_lab.plots import curves

    shown = final[(final["alpha"] == alpha) & final["label_score"].notna()]
    counts = [name for name in dict.fromkeys(shown["judge"]) if name.endswith("cards")]
    lines = [
        {
            "dataset": row["dataset"],
            "clients": count.removesuffix(" cards"),
            "judge": "cards" if row["judge"] == count else row["judge"],
            "auroc": row["label_score"],
        }
        for row in shown.to_dict("records")
        for count in counts
        if row["judge"] == count or not row["judge"].endswith("cards")
    ]
    return curves(
        pd.DataFrame(lines, columns=["dataset", "clients", "judge", "auroc"]),
        x="clients",
        y="auroc",
        by="judge",
        panel="dataset",
        name="cards-against-references",
        title="Wrong labels found by the cards of clients that all have wrong labels, and by clean reference rows.",
        labels={"clients": "clients", "auroc": "AUROC of wrong labels"},
    )
