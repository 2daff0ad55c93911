"""Which gradient finds spoilt rows: the paper's five variants of the calibrated gradient, and that of its appendix.

Clients of 500 rows, 5 to 30 % of which are spoilt, and 500 reference rows. The paper flags a row whose calibrated
gradient is positive; its *count* is the number of such rows, its *detection ratio* the part of the spoilt rows that is
among them. First the paper's setting: shuffled images, noise of N(0, 1) on pixels from 0 to 1 (3 to 4 σ of the data),
wrong labels, and `fedbary_lab.published`. Then harder ones: noise of 1 σ, and our default, S = rows/5 in a scaled
space. The authors' code gives every class the same mean and covariance: *no classes* leaves labels out, to see what
that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data.corruptions import shuffle_pixels
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.federations import SplitDataset, Spoilt, split_dataset
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.sign_rule import SIGN_METRICS, signed
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary_lab.paper import Gradient, PaperInterpolation, published

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

DATASETS = ("mnist", "fashion-mnist", "cifar10-images")
# The gradient of which distance; the first three are the client's, the others the server's.
DISTANCES: dict[Gradient, str] = {
    "gamma": "W(P, γ)",
    "eta": "W(P, η_Q)",
    "access": "W(P, Q)",
    "server-gamma": "W(η_P, η_Q)",
    "server-eta": "W(η_P, Q)",
    "server-target": "W(η_Q, Q)",
}
OF_THE_CLIENT: tuple[Gradient, ...] = ("gamma", "eta", "access")
# Kind and size of what spoils a row.
SHUFFLED, NORMAL, SIGMA, LABELS = "shuffled images", "N(0, 1)", "1 σ", "wrong labels"
NOISES = {SHUFFLED: ("shuffled", 0.0), NORMAL: ("standard", 1.0), SIGMA: ("features", 1.0), LABELS: ("labels", 0.0)}
SHARES = (0.05, 0.1, 0.15, 0.3)
PUBLISHED, EXACT, NO_CLASSES, DEFAULT = "published", "exact potentials", "no classes", "our default"
SEEDS = 3
RAW = fb.Space(scaling="none", projection="none")
# What the paper prints: noise and gradient → share of the spoilt rows that it finds.
IN_THE_PAPER = {
    (NORMAL, "eta"): "found_by_client",
    (NORMAL, "server-target"): "found_by_server",
    (LABELS, "eta"): "found_labels",
    (LABELS, "access"): "found_labels_with_access",
}
KEYS = ("noise", "dataset", "setting", "share", "gradient")


@dataclass(frozen=True)
class Cell:
    """One gradient in one setting, for a client of every share of spoilt rows."""

    dataset: str
    noise: str
    setting: str
    gradient: Gradient
    seed: int
    rows: int = 500
    reference_rows: int = 500

    def __str__(self) -> str:
        return f"{self.dataset}, {self.noise}, {self.setting}, {self.gradient}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × noises × settings × gradients × seeds."""
    if smoke:
        chosen = [(NORMAL, PUBLISHED, gradient) for gradient in DISTANCES]
        chosen += [(noise, DEFAULT, "eta") for noise in NOISES] + [(LABELS, NO_CLASSES, "eta")]
        return [Cell("digits", *choice, 0, rows=60, reference_rows=60) for choice in chosen]
    return [
        Cell(dataset, noise, setting, gradient, seed)
        for seed, dataset, noise, setting in product(range(SEEDS), DATASETS, NOISES, SETTINGS)
        for gradient in _gradients(dataset, noise, setting)
    ]


def _gradients(dataset: str, noise: str, setting: str) -> tuple[Gradient, ...]:
    """Which gradients are looked at: wide points cost six times as much, and exact potentials are there to compare."""
    wide = dataset == DATASETS[-1]
    if setting == DEFAULT:
        return OF_THE_CLIENT
    if setting == EXACT:
        return ("eta",) if noise == NORMAL else ()
    if setting == NO_CLASSES:
        return ("eta", "access") if noise == LABELS and not wide else ()
    if wide:
        few: dict[str, tuple[Gradient, ...]] = {NORMAL: ("eta", "access", "server-target"), SHUFFLED: ("eta",)}
        return few.get(noise, ())
    return OF_THE_CLIENT if noise == SIGMA else tuple(DISTANCES)


def compute(cell: Cell) -> list[Record]:
    """A record for each share of spoilt rows: how right the flags are, or the error."""
    reference = _unit_pixels(cell.dataset, cell.reference_rows, cell.seed).reference
    clients = spoilt_clients(cell)
    tables = {name: client.table for name, client in clients.items()}
    if cell.setting == NO_CLASSES:
        reference, tables = _one_class(reference), {name: _one_class(table) for name, table in tables.items()}
    protocol, space = SETTINGS[cell.setting](cell.gradient)
    engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
    result = fb.value(tables, reference, protocol=protocol, space=space, rule="sign", seed=cell.seed, engine=engine)
    records: list[Record] = []
    for name, client in clients.items():
        try:
            found = signed(client.mask, result.rows(name))
        except fb.FedbaryError as error:  # a client that failed; the others count
            found = {"error": str(error)}
        records.append({"share": name, **found})
    return records


def spoilt_clients(cell: Cell) -> dict[str, Spoilt]:
    """A client for each share of spoilt rows; their rows are the same whatever spoils them."""
    data = _unit_pixels(cell.dataset, cell.reference_rows, cell.seed)
    seeds = {share: 1000 * (cell.seed + 1) + place for place, share in enumerate(SHARES)}
    return {_percent(share): _client(data, cell, share, seed) for share, seed in seeds.items()}


def _client(data: SplitDataset, cell: Cell, share: float, seed: int) -> Spoilt:
    rows = data.rows(cell.rows, np.inf, seed=seed)
    kind, sigma = NOISES[cell.noise]
    if kind == "shuffled":
        clean = data.pool.take(rows)
        table, mask = shuffle_pixels(clean, share, seed=seed)
        return Spoilt(table, clean.labels, mask)
    return data.client(rows, kind, share, sigma=sigma, seed=seed)


def _published(gradient: Gradient) -> tuple[fb.Interpolation, fb.Space | None]:
    return published(gradient), None


SETTINGS: Mapping[str, Callable[[Gradient], tuple[fb.Interpolation, fb.Space | None]]] = {
    PUBLISHED: _published,
    EXACT: lambda gradient: (replace(published(gradient), potentials="exact"), RAW),
    NO_CLASSES: _published,
    DEFAULT: lambda gradient: (PaperInterpolation(gradient=gradient), None),
}


@lru_cache(maxsize=1)
def _unit_pixels(dataset: str, reference_rows: int, seed: int) -> SplitDataset:
    """The images, their pixels from 0 to 1."""
    data = split_dataset(dataset, reference_rows, seed=seed)
    largest = max(float(column.max()) for column in data.pool.columns.values())
    return data if largest == 1.0 else SplitDataset(_divided(data.reference, largest), _divided(data.pool, largest))


def _divided(table: fb.Table, by: float) -> fb.Table:
    return table.replace(columns={name: column / by for name, column in table.columns.items()})


def _one_class(table: fb.Table) -> fb.Table:
    return table.replace(labels=np.zeros(len(table), dtype=int))


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds, and the paper's share of found rows where it prints one."""
    final = mean_and_spread(records, KEYS, SIGN_METRICS)
    said = [IN_THE_PAPER.get(place) for place in final[["noise", "gradient"]].itertuples(index=False, name=None)]
    return final.assign(paper=[np.nan if name is None else SAYS[name] for name in said])


def markdown(final: pd.DataFrame) -> str:
    """What the paper prints beside what we measure, then every count and ratio."""
    titles = {
        "flagged": "count: rows with a positive calibrated gradient, of 500",
        "recall": "detection ratio: share of the spoilt rows that are flagged",
        "alarms": "share of the other rows that are flagged",
        "precision": "share of spoilt rows among the flagged",
        "success": "share of the draws in which exactly the spoilt rows are flagged",
        "auroc": "AUROC of spoilt rows by calibrated gradient",
    }
    distances = "; ".join(f"*{gradient}* ∂{distance}" for gradient, distance in DISTANCES.items())
    text = (
        f"# Gradients that find spoilt rows\n\nMean ± standard deviation over seeds. Gradients: {distances}.\n\n"
        "Settings: *published* is `fedbary_lab.published` (S = rows, t = 0.5, raw numbers, debiased Sinkhorn "
        "potentials); *exact potentials* the same with those of exact transport; *no classes* the same without labels, "
        "as in the authors' code, which gives every class the same statistics; *our default* has S = rows/5, a random "
        "t and a scaled, projected space.\n\n"
    )
    text += f"## The paper's numbers\n\n{_beside_the_paper(final)}\n\n"
    down, digits = ["dataset", "setting", "share"], {**dict.fromkeys(titles, 2), "flagged": 0}
    return text + pivots(final, by="noise", down=down, across="gradient", titles=titles, digits=digits)


def _beside_the_paper(final: pd.DataFrame) -> str:
    """The detection ratios that the paper prints, beside ours and beside the clean rows that are flagged, too."""
    printed = final[final["paper"].notna()]
    distances = {str(gradient): distance for gradient, distance in DISTANCES.items()}
    header = ["noise", "gradient", "found in the paper", "setting", "data set", "found by us", "clean rows flagged"]
    rows = [
        [
            str(noise),
            f"∂{distances[str(gradient)]}",
            number(group["paper"].iloc[0], digits=2),
            str(setting),
            str(dataset),
            *(" / ".join(number(value, digits=2) for value in group[metric]) for metric in ("recall", "alarms")),
        ]
        for (noise, gradient, setting, dataset), group in printed.groupby(
            ["noise", "gradient", "setting", "dataset"], sort=False
        )
    ]
    shares = " / ".join(dict.fromkeys(final["share"]))
    return (
        f"Ours with {shares} of the rows spoilt; the paper does not say of which share it speaks. A rule that sees "
        "nothing finds as large a part of the spoilt rows as it flags of the clean ones: where the last two columns "
        f"agree, nothing was detected.\n\n{markdown_table(header, rows)}"
    )


def pictures(final: pd.DataFrame) -> list[Display]:
    """Counts and ratios against the share of spoilt rows in the paper's setting, as in its figure."""
    import pandas as pd

    from fedbary_lab.plots import curves

    shown = final[final["setting"] == PUBLISHED]
    drawn = []
    for noise, group in shown.groupby("noise", sort=False):
        spoilt = group.drop_duplicates(["dataset", "share"]).assign(gradient="spoilt rows")
        spoilt["flagged"] = spoilt["spoilt"]
        for metric, title, extra in (
            ("flagged", "rows with a positive calibrated gradient", [spoilt]),
            ("recall", "share of the spoilt rows that are flagged", []),
        ):
            lines = pd.concat([group, *extra])
            drawn.append(
                curves(
                    lines[["dataset", "share", "gradient", metric]].reset_index(drop=True),
                    x="share",
                    y=metric,
                    by="gradient",
                    panel="dataset",
                    name=f"{metric}-{_word(str(noise))}",
                    title=f"{title.capitalize()} against the share of spoilt rows ({noise}), published setting.",
                    labels={"share": "spoilt rows", metric: title},
                )
            )
    return drawn


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Numbers of every cell, ``recall_published_eta_normal_mnist_30``, and what the paper claims of all of them.

    ``recall_client_normal`` and its like are means over data sets and shares in the published setting, ``least_…`` the
    smallest; ``…_from_10`` leaves out 5 %, where few rows are spoilt.
    """
    found: dict[str, float] = {}
    for row in final.to_dict("records"):
        place = "_".join(_word(str(row[key])) for key in ("setting", "gradient", "noise", "dataset", "share"))
        found |= {f"{metric}_{place}": row[metric] for metric in SIGN_METRICS}
    groups = {"client": "eta", "server": "server-target", "access": "access"}
    for (who, gradient), noise, setting in product(groups.items(), NOISES, SETTINGS):
        own = final[(final["gradient"] == gradient) & (final["noise"] == noise) & (final["setting"] == setting)]
        for metric in ("recall", "alarms", "precision", "success"):
            name = f"{metric}_{who}_{_word(noise)}" + ("" if setting == PUBLISHED else f"_{_word(setting)}")
            enough = own.loc[own["share"] != _percent(SHARES[0]), metric]
            found |= {name: own[metric].mean(), f"least_{name}": own[metric].min(), f"{name}_from_10": enough.mean()}
    return found


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


_WORDS = {NORMAL: "normal", SHUFFLED: "shuffled", SIGMA: "sigma", LABELS: "labels", EXACT: "exact", DEFAULT: "default"}


def _word(text: str) -> str:
    """A key's value as a part of a fact's name."""
    return fact_name(_WORDS.get(text, text.removesuffix(" %")))
