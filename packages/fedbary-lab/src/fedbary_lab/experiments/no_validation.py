"""Without validation rows: does the noisy client of five stand out from the barycenter? The paper's histogram.

Four clients are drawn alike, the fifth has noise in a share of its rows: wrong labels; N(0, 1) on pixels from 0 to 1,
as in the paper; or one standard deviation of the data, which is harder. The interpolation finds its own barycenter and
the distance of each client to it, as we run it and in the published setting; cards have a distance as well, and beside
it an estimate of each client's share of bad rows. In *nobody* the fifth is like the others: what chance alone does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.valuation.verdict import Advice
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import mean_and_spread, pivots
from fedbary_lab.paper import published

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.protocols.messages import Settings
    from fedbary.valuation.result import Valuation
    from fedbary.views.plots import Display

NOISES = {
    "standard": "features, N(0, 1) on [0, 1]",
    "features": "features, 1 σ of the data",
    "labels": "wrong labels",
    "nobody": "nobody is noisy",
}
# Which noise a data set gets: embeddings are no pixels from 0 to 1.
DATASETS = {
    "cifar10-images": ("standard", "features", "labels"),
    "cifar10-embeddings": ("features", "labels"),
    "fashion-mnist": ("standard", "features", "labels"),
}
SHARES = (0.1, 0.2, 0.5, 1.0)
CLIENTS = tuple(f"client_{place}" for place in range(1, 6))
NOISY = CLIENTS[-1]
INTERPOLATION, PUBLISHED, CARDS = "interpolation", "interpolation, as published", "cards"
METRICS = (
    *("farthest", "times", "deviations", "lowest_quality", "estimated", "estimated_others", "seen", "others_seen"),
    *CLIENTS,
)


@dataclass(frozen=True)
class Cell:
    """One federation without validation rows, by every method."""

    dataset: str
    noise: str
    share: float
    seed: int
    rows: int = 500
    published_rows: int = 200

    def __str__(self) -> str:
        return f"{self.dataset}, {NOISES[self.noise]}, {self.share:.0%}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × noise × shares × seeds; the smoke test has few digits."""
    if smoke:
        return [Cell("digits", noise, 0.5, 0, 100, 60) for noise in ("features", "labels")]
    return [
        Cell(dataset, noise, share, seed)
        for dataset, noises in DATASETS.items()
        for noise, share in [("nobody", 0.0), *((noise, share) for noise in noises for share in SHARES)]
        for seed in range(5)
    ]


def compute(cell: Cell) -> list[Record]:
    """A record for each method; the published setting, which takes every row for a point, has fewer rows."""
    engine = fb.LocalEngine(workers=1)
    methods: dict[str, tuple[Settings, int]] = {
        INTERPOLATION: (fb.Interpolation(), cell.rows),
        PUBLISHED: (published(), cell.published_rows),
        CARDS: (fb.Cards(), cell.rows),
    }
    records = []
    for method, (protocol, rows) in methods.items():
        result = fb.value(federation(cell, rows), protocol=protocol, seed=cell.seed, engine=engine)
        records.append({"method": method, **found(result)})
    return records


def federation(cell: Cell, rows: int) -> dict[str, fb.Table]:
    """Four clients drawn alike and the noisy fifth, without any row in common."""
    data, seed = split_dataset(cell.dataset, 0, seed=cell.seed), 500_000 * (cell.seed + 1)
    drawn = data.disjoint_rows([rows] * len(CLIENTS), np.inf, seed=seed)
    tables = {name: data.pool.take(own) for name, own in zip(CLIENTS, drawn, strict=True)}
    if cell.share:
        tables[NOISY] = data.client(drawn[-1], cell.noise, cell.share, seed=seed).table
    return tables


def found(result: Valuation) -> Record:
    """What a run says of the fifth client beside the others."""
    if result.failed:
        return {"error": next(iter(result.failed.values()))}
    clients = result.clients.set_index("client").reindex(list(CLIENTS))
    record: Record = {name: float(clients["distance"][name]) for name in CLIENTS}
    record |= standing_out([record[name] for name in CLIENTS])
    if clients["quality"].notna().all():
        quality = clients["quality"].astype(float)
        record["lowest_quality"] = float(quality.drop(NOISY).min() > quality[NOISY])
        record["estimated"] = 1.0 - float(quality[NOISY])
        record["estimated_others"] = 1.0 - float(quality.drop(NOISY).mean())
    return record | _advised({opinion.client: opinion.advice for opinion in result.verdict()})


def standing_out(distances: Sequence[float]) -> dict[str, float]:
    """How far the last stands out: whether it is the farthest, by which factor, and by how many spreads of the others.

    Examples
    --------
    >>> standing_out([1.0, 3.0, 1.0, 3.0, 4.0])["times"]
    2.0
    """
    others, last = np.asarray(distances[:-1], dtype=float), float(distances[-1])
    return {
        "farthest": float(last > others.max()),
        "times": last / float(others.mean()),
        "deviations": (last - float(others.mean())) / max(float(others.std(ddof=1)), 1e-12),
    }


def _advised(advice: Mapping[str, Advice]) -> dict[str, float]:
    """Whether the verdict singles the fifth out, and whether it suspects any other."""
    suspected = {name for name, said in advice.items() if said in (Advice.LOOK, Advice.LEAVE)}
    return {"seen": float(NOISY in suspected), "others_seen": float(bool(suspected - {NOISY}))}


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds."""
    named = records.assign(noisy=[f"{100 * share:.0f} %" for share in records["share"]])
    return mean_and_spread(named, ["dataset", "noise", "noisy", "method"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """One block per data set: noise and shares down, methods across."""
    titles = {
        "farthest": "share of seeds in which the fifth client is the farthest",
        "times": "its distance, divided by the mean of the others",
        "deviations": "its distance from their mean, in standard deviations of the four",
        "seen": "share of seeds in which the verdict singles it out (look at first, or leave out)",
        "others_seen": "share of seeds in which the verdict suspects one of the others",
        "lowest_quality": "share of seeds in which its quality is the lowest",
        "estimated": "estimated share of its rows that are bad",
        "estimated_others": "the same of the others",
    }
    digits = dict.fromkeys(titles, 2) | {"deviations": 1}
    named = final.assign(noise=final["noise"].map(NOISES))
    return (
        "# Without validation rows\n\nFour clients drawn alike and a fifth with noise, 500 rows each (200 where the "
        "setting is the published one, in which every row is a point). The paper shows a histogram in which the fifth, "
        "with noisy features, is the farthest from the barycenter, and prints no numbers. Where *nobody* is noisy the "
        "fifth is the farthest in one of five seeds by chance. Mean ± standard deviation over seeds.\n\n"
        + pivots(named, by="dataset", down=["noise", "noisy"], across="method", titles=titles, digits=digits)
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """How often the fifth stands out, by method, noise and share, over all data sets."""
    words = {INTERPOLATION: "interpolation", PUBLISHED: "published", CARDS: "cards"}
    numbers = {}
    known = final[final["seeds"] > 0]
    for (method, noise, share), group in known.groupby(["method", "noise", "noisy"], sort=False):
        place = f"{words[str(method)]}_{noise}" + ("" if noise == "nobody" else f"_{str(share).removesuffix(' %')}")
        for metric in ("farthest", "times", "deviations", "seen", "others_seen", "lowest_quality", "estimated"):
            if group[metric].notna().any():
                numbers[f"{metric}_{place}"] = float(group[metric].mean())
    return numbers


def pictures(final: pd.DataFrame) -> list[Display]:
    """The paper's histogram for each kind of noise: distances of the five, divided by the mean of the first four."""
    from fedbary_lab.plots import bars

    shown = []
    for noise, said in NOISES.items():
        mine = final[(final["method"] == INTERPOLATION) & (final["noise"] == noise) & (final["seeds"] > 0)]
        if len(mine) and noise != "nobody":
            scaled = mine[list(CLIENTS)].div(mine[list(CLIENTS[:-1])].mean(axis=1), axis=0)
            lines = mine[["dataset", "noisy"]].join(scaled).melt(["dataset", "noisy"], list(CLIENTS), "client", "times")
            shown.append(
                bars(
                    lines,
                    x="client",
                    y="times",
                    by="noisy",
                    panel="dataset",
                    name=f"no-validation-{noise}",
                    title=f"Distances from the barycenter of four clients alike and a noisy fifth: {said}.",
                    labels={"times": "distance / mean of the first four"},
                )
            )
    return shown
