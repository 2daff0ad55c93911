"""Which rows are wrong: every method on the same spoilt clients, under label skew.

For each data set and seed, a reference and 16 clients: four kinds of noise × four strengths of Dirichlet label
skew. All methods see the same rows; cards have four clean peers (three for digits) instead of the reference. Our
methods are drawn more often than the others, because floors are held against them; a few methods are tried again with
300 rows of the same references. The federations of `spoilt_federations` come along: there nobody has a clean row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary.errors import as_note
from fedbary.notes import Note
from fedbary.research.baselines.logistic import Classifier
from fedbary.research.baselines.row_methods import ROW_METHODS
from fedbary.research.experiments import detection_facts, spoilt_federations
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import NOISES, Rows, SplitDataset, Spoilt, split_dataset
from fedbary.research.experiments.judged_rows import judged
from fedbary.research.experiments.last_consensus import last_consensus
from fedbary.research.experiments.open_methods import OpenMethods
from fedbary.research.experiments.spoilt_federations import FederationCell
from fedbary.research.experiments.tables import markdown_table, mean_and_spread, number, pivots, stacked

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

Outcome = Mapping[str, "pd.DataFrame | Note"]

DATASETS = ("digits", "mnist", "fashion-mnist", "cifar10-embeddings", "dry-bean")
ALPHAS = (0.1, 0.3, 1.0, np.inf)
FDR = 0.1
METRICS = ("auroc", "channel", "behind", "precision", "fdr", "recall", "ceiling", "unscored", "suggestions")
SEEDS, SEEDS_OF_OTHERS = 20, 5
FEW_REFERENCE_ROWS = 300
# Fewer draws say too little of how far a mean rate is off by chance.
LEAST_SEEDS = 5
# Floors of our methods: how far `value` may be behind the better channel, on average and anywhere; which part of the
# recall that the better channel allows flags must reach, wherever it allows a half.
MEAN_BEHIND, MOST_BEHIND = 0.003, 0.01
MEAN_POWER, LEAST_POWER, CEILING_FROM = 0.75, 0.6, 0.5


@dataclass(frozen=True)
class Cell:
    """One method on all clients of one draw; ``used_rows`` of the reference, or all."""

    dataset: str
    seed: int
    method: str
    reference_rows: int
    client_rows: int
    peers: int
    peer_rows: int
    used_rows: int | None = None
    few: bool = False

    def __str__(self) -> str:
        used = f", {self.used_rows} reference rows" if self.used_rows else ""
        return f"{self.dataset}{used}, seed {self.seed}, {self.method}"


def cells(smoke: bool) -> list[Cell | FederationCell]:
    """Data sets × seeds × methods, and federations; the smoke test has two clients of few digits."""
    federations = spoilt_federations.cells(smoke)
    if smoke:
        return [*(Cell("digits", 0, method, 400, 120, 2, 100, few=True) for method in METHODS), *federations]
    sizes = {"digits": (800, 400, 3, 150)}
    with_reference = [
        Cell(dataset, seed, method, *sizes.get(dataset, (2000, 1000, 4, 500)), used)
        for dataset in DATASETS
        for used, methods in ((None, METHODS), (FEW_REFERENCE_ROWS, FEW_METHODS))
        for method in methods
        for seed in range(SEEDS if method in OURS and used is None else SEEDS_OF_OTHERS)
    ]
    return [*with_reference, *federations]


def compute(cell: Cell | FederationCell) -> list[Record]:
    """One record per client: the metrics, or the error that a method met."""
    if isinstance(cell, FederationCell):
        return spoilt_federations.compute(cell)
    draw = _drawn(cell)
    try:
        outcomes = METHODS[cell.method](draw)
    except Exception as error:  # the table says which method failed, and on what
        outcomes = dict.fromkeys(draw.clients, as_note(error))
    return [
        {"noise": client.noise, "alpha": client.skew, **judged(client.spoilt, outcomes[name], client.noise, FDR)}
        for name, client in draw.clients.items()
    ]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds of every metric, how often the method failed, and what misses a floor."""
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "clients", "used_rows"])])
    federations = records["clients"].notna()
    tables = ((_one_by_one, ~federations), (spoilt_federations.table, federations))
    parts = [final(records[mine].reset_index(drop=True)) for final, mine in tables if mine.any()]
    return stacked(parts)


def _one_by_one(records: pd.DataFrame) -> pd.DataFrame:
    """The clients that are judged one by one."""
    import pandas as pd

    anyway = records[(records["method"] == WITHOUT_REFERENCE) & records["used_rows"].isna()]
    few = records["used_rows"].notna().any()
    records = pd.concat([records, anyway.assign(used_rows=FEW_REFERENCE_ROWS)]) if few else records
    main = records["used_rows"].isna()
    block = records["dataset"].where(main, records["dataset"] + f", {FEW_REFERENCE_ROWS} reference rows")
    final = mean_and_spread(records.assign(block=block), ["dataset", "block", "noise", "alpha", "method"], METRICS)
    shown = final[["dataset", "noise", "alpha"]].drop_duplicates()
    before = last_consensus("detection").merge(shown)
    final = pd.concat([final, before.assign(block=before["dataset"])], ignore_index=True).assign(clients=np.nan)
    ours, enough = final["method"].isin(OURS), final["seeds"] >= LEAST_SEEDS
    error = final["fdr_sd"] / np.sqrt(final["seeds"].clip(lower=1))
    final = final.assign(
        power=(final["recall"] / final["ceiling"]).where(final["ceiling"] > CEILING_FROM), power_sd=np.nan
    )
    return final.assign(
        auroc_missed=ours & (final["behind"] > MOST_BEHIND),
        power_missed=ours & (final["power"] < LEAST_POWER),
        fdr_missed=ours & enough & (final["fdr"] - 2.0 * error > FDR),
    )


def markdown(final: pd.DataFrame) -> str:
    """The floors of our methods, then one table per data set and metric: clients down, methods across."""
    titles = {
        "auroc": "AUROC of spoilt rows by value, which does not know what kind of noise to look for",
        "channel": "AUROC by the better one of label score and feature score, where a method has them",
        "precision": "precision among the k worst rows, k = number of spoilt rows",
        "fdr": f"realised false-discovery rate of the flags at q = {FDR}",
        "recall": f"recall of the flags at q = {FDR}",
        "ceiling": f"ceiling: the best recall of the better score with a false-discovery rate of at most {FDR}",
        "power": f"recall by ceiling, where that is above {CEILING_FROM}",
        "suggestions": "share of right suggested labels among wrong labels",
    }
    text = "# Detection of spoilt rows\n\nMean ± standard deviation over seeds. Numbers that miss a floor are bold.\n\n"
    federations = final["clients"].notna()
    if len(alone := final[~federations]):
        text += floors(alone) if alone["method"].isin(OURS).any() else ""
        text += pivots(alone, by="block", down=["noise", "alpha"], across="method", titles=titles)
    return text + (f"\n{spoilt_federations.markdown(final[federations])}" if federations.any() else "")


def floors(final: pd.DataFrame) -> str:
    """Our methods beside what is promised of them, and the cells in which they miss it."""
    main = final[final["block"] == final["dataset"]]
    few = final[final["block"] != final["dataset"]]
    rows, lines = [], []
    for method in OURS:
        own = main[main["method"] == method]
        unscored = few.loc[few["method"] == method, "unscored"]
        missed = own[own["auroc_missed"] | own["power_missed"] | own["fdr_missed"]]
        behind = {other: _behind(few, method, other) for other in RIVALS}
        rows.append(
            [
                method,
                f"{number(own['behind'].mean(), digits=4)} / {number(own['behind'].max())}",
                f"{number(own['power'].mean(), digits=2)} / {number(own['power'].min(), digits=2)}",
                f"{number(own['fdr'].max())}, {int(own['fdr_missed'].sum())} above",
                f"{int((own['unscored'] > 0).sum())} / {int((unscored > 0).sum())}",
                *(f"{len(cells)} of {compared}" for cells, compared in behind.values()),
            ]
        )
        lines += [
            f"- {method}, {row['dataset']}, {row['noise']}, α = {row['alpha']}: behind {number(row['behind'])}, "
            f"recall {number(row['recall'])} of {number(row['ceiling'])}, realised rate {number(row['fdr'])}"
            for row in missed.to_dict("records")
        ]
        lines += [
            f"- {method}, {FEW_REFERENCE_ROWS} reference rows, behind {other}: {', '.join(cells)}"
            for other, (cells, _) in behind.items()
            if cells
        ]
    header = [
        "method",
        f"`value` behind the better score, mean / most (at most {MEAN_BEHIND} / {MOST_BEHIND})",
        f"recall by ceiling, mean / least (at least {MEAN_POWER} / {LEAST_POWER})",
        f"largest realised rate at q = {FDR}, and cells above it by two standard errors",
        f"cells in which some rows got no score, all / {FEW_REFERENCE_ROWS} reference rows",
        *(f"{FEW_REFERENCE_ROWS} reference rows: cells behind {other}" for other in RIVALS),
    ]
    said = (
        "A rate that is exactly q is above it by two standard errors in about one cell of forty, by chance. *sketch "
        "proved* promises its rate for clients with the reference's class mix, α = ∞. Draws in which some rows got no "
        "score, since the reference has too few rows of their class, are in the AUROC by value and in recall, and "
        "not in the first two columns.\n"
    )
    return "\n".join(["## Floors\n", said, markdown_table(header, rows), "", *lines, "", ""])


def _behind(few: pd.DataFrame, method: str, other: str) -> tuple[list[str], int]:
    """Cells of wrong labels in which another method has the higher AUROC by value, and how many there are."""
    labels = few[few["noise"].str.startswith("labels")]
    auroc = labels.pivot_table(index=["dataset", "noise", "alpha"], columns="method", values="auroc", sort=False)
    if method not in auroc or other not in auroc:
        return [], 0
    gap = (auroc[other] - auroc[method]).dropna()
    found = gap[gap > 0].reset_index(name="by").to_dict("records")
    return [f"{row['dataset']}, {row['noise']}, α = {row['alpha']} ({row['by']:.3f})" for row in found], len(gap)


def facts(final: pd.DataFrame) -> dict[str, float]:
    """What pages quote: how well labels are found, by whom, with which rate of false discoveries."""
    return detection_facts.facts(final)


def pictures(final: pd.DataFrame) -> list[Display]:
    """AUROC by the better score against label skew, a panel for each data set."""
    final = final[final["clients"].isna()]
    final = final[final["block"] == final["dataset"]]
    return [skew_picture(final, noise) for noise in dict.fromkeys(final["noise"].dropna())]


def skew_picture(final: pd.DataFrame, noise: str) -> Display:
    """AUROC of one kind of noise against the Dirichlet parameter; by value where a method has no score of its own."""
    from fedbary.views.plots import curves

    shown = final[final["noise"] == noise].copy()
    shown["best"] = shown["channel"].fillna(shown["auroc"])
    shown = shown[shown["best"].notna()]
    return curves(
        shown[["dataset", "alpha", "method", "best"]].reset_index(drop=True),
        x="alpha",
        y="best",
        by="method",
        panel="dataset",
        name=f"skew-{noise.replace(' ', '-').replace('%', 'percent')}",
        title=f"AUROC of spoilt rows ({noise}) against label skew: the smaller the Dirichlet α, the stronger the skew.",
        labels={"alpha": "Dirichlet α", "best": "AUROC"},
    )


@dataclass(frozen=True, eq=False)
class Client:
    """One of the 16: its noise, its label skew, its rows of the pool and what became of them."""

    noise: str
    alpha: float
    rows: Rows
    spoilt: Spoilt

    @property
    def skew(self) -> str:
        """The Dirichlet parameter as a text."""
        return f"{self.alpha:g}" if np.isfinite(self.alpha) else "∞"


@dataclass(frozen=True, eq=False)
class Draw:
    """What a method is given: the clients, and the data set with the reference and the pool for peers."""

    cell: Cell
    data: SplitDataset
    clients: Mapping[str, Client]

    @property
    def tables(self) -> dict[str, fb.Table]:
        """The clients' tables by name."""
        return {name: client.spoilt.table for name, client in self.clients.items()}


def _drawn(cell: Cell) -> Draw:
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    if cell.used_rows is not None:
        data = replace(data, reference=data.reference.take(np.arange(cell.used_rows)))
    noises, alphas = (("labels 10 %", "features 1 σ"), (1.0,)) if cell.few else (tuple(NOISES), ALPHAS)
    clients = {}
    for place, (noise, alpha) in enumerate(product(noises, alphas)):
        kind, share, sigma = NOISES[noise]
        rows = data.rows(cell.client_rows, alpha, seed=_seed(cell, place))
        spoilt = data.client(rows, kind, share, sigma=sigma, seed=_seed(cell, place))
        clients[f"{noise}, {alpha:g}"] = Client(noise, alpha, rows, spoilt)
    return Draw(cell, data, clients)


def _valued(protocol: str, *, calibration: str = "split", **settings: Any) -> Callable[[Draw], Outcome]:
    """A method that is a protocol of fedbary: all clients in one run, so that the reference is fitted once."""

    def method(draw: Draw) -> Outcome:
        chosen = getattr(fb, protocol)(**settings)
        result = _value(draw.tables, draw.data.reference, chosen, draw.cell.seed, calibration=calibration)
        return {name: _rows(result, name) for name in draw.clients}

    return method


def _cards(draw: Draw) -> Outcome:
    """Without a reference: each client among clean peers that have its kind of label skew."""
    outcome: dict[str, pd.DataFrame | Note] = {}
    for place, (name, client) in enumerate(draw.clients.items()):
        taken, parties = client.rows, {"client": client.spoilt.table}
        for peer in range(draw.cell.peers):
            seed = _seed(draw.cell, 1000 + 100 * place + peer)
            rows = draw.data.rows(draw.cell.peer_rows, client.alpha, seed=seed, without=taken)
            taken = np.concatenate([taken, rows])
            parties[f"peer_{peer + 1}"] = draw.data.pool.take(rows)
        result = _value(parties, None, fb.Cards(), draw.cell.seed)
        outcome[name] = _rows(result, "client")
    return outcome


def _baseline(method: str) -> Callable[[Draw], Outcome]:
    """A method of other people, one client after the other."""

    def values(draw: Draw) -> Outcome:
        compute, reference = ROW_METHODS[method].compute, draw.data.reference
        return {name: compute(client, reference, seed=0) for name, client in draw.tables.items()}

    return values


def _logistic(draw: Draw) -> Outcome:
    """Like the baseline of that name, but fitted to the reference once for all clients."""
    classifier = Classifier.fit(draw.data.reference, seed=draw.cell.seed)
    return {name: classifier.values(client) for name, client in draw.tables.items()}


_COMPARED: dict[str, Callable[[Draw], Outcome]] = {
    "sketch split": _valued("Sketch", calibration="split", lower="triangle"),
    "sketch crossfit": _valued("Sketch", calibration="crossfit", lower="triangle"),
    "sketch proved": _valued("Sketch", calibration="split", lower="triangle", adapt=False),
    "cards": _cards,
    "paper γ": _valued("Interpolation", gradient="gamma"),
    "paper η": _valued("Interpolation", gradient="eta"),
    "exact dual": _valued("Interpolation", gradient="access", rounds=1),
    "cleanlab": _baseline("cleanlab"),
    "KNN-Shapley": _baseline("knn-shapley"),
    "logistic": _logistic,
}
METHODS = OpenMethods(_COMPARED, _baseline)
OURS = ("sketch split", "sketch crossfit", "sketch proved")
# Methods that are tried with fewer reference rows, and one that needs none: it says the same of the same clients.
FEW_METHODS, WITHOUT_REFERENCE = (*OURS, "logistic"), "cleanlab"
RIVALS = (WITHOUT_REFERENCE, "logistic")


def _value(
    clients: dict[str, fb.Table], reference: fb.Table | None, protocol: Any, seed: int, **settings: Any
) -> fb.Valuation:
    engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
    return fb.value(clients, reference, protocol=protocol, fdr=FDR, seed=seed, engine=engine, **settings)


def _rows(result: fb.Valuation, client: str) -> pd.DataFrame | Note:
    try:
        return result.rows(client)
    except fb.FedbaryError as error:  # a client that failed; the others count
        return error.note


def _seed(cell: Cell, number: int) -> int:
    return 100_000 * (cell.seed + 1) + number
