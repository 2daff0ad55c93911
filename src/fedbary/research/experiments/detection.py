"""Which rows are wrong: every method on the same spoilt clients, under label skew.

For each data set and seed, a reference and 16 clients: four kinds of noise × four strengths of Dirichlet label
skew. All methods see the same rows; the consensus has four clean peers (three for digits) instead of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

import fedbary as fb
from fedbary.errors import as_note
from fedbary.notes import Note
from fedbary.research.baselines.logistic import Classifier
from fedbary.research.baselines.row_methods import ROW_METHODS
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.federations import Rows, SplitDataset, Spoilt, split_dataset
from fedbary.research.experiments.tables import mean_and_spread, pivots
from fedbary.space.labels import class_names

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

Outcome = Mapping[str, "pd.DataFrame | Note"]

DATASETS = ("digits", "mnist", "fashion-mnist", "cifar10-embeddings", "dry-bean")
NOISES = {
    "labels 10 %": ("labels", 0.1, 0.0),
    "labels 30 %": ("labels", 0.3, 0.0),
    "features 0.5 σ": ("features", 0.1, 0.5),
    "features 1 σ": ("features", 0.1, 1.0),
}
ALPHAS = (0.1, 0.3, 1.0, np.inf)
FDR = 0.1
METRICS = ("auroc", "channel", "precision", "fdr", "recall", "suggestions")


@dataclass(frozen=True)
class Cell:
    """One method on all clients of one draw."""

    dataset: str
    seed: int
    method: str
    reference_rows: int
    client_rows: int
    peers: int
    peer_rows: int
    few: bool = False

    def __str__(self) -> str:
        return f"{self.dataset}, seed {self.seed}, {self.method}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × seeds × methods; the smoke test has two clients of few digits."""
    if smoke:
        return [Cell("digits", 0, method, 400, 120, 2, 100, few=True) for method in METHODS]
    sizes = {"digits": (800, 400, 3, 150)}
    return [
        Cell(dataset, seed, method, *sizes.get(dataset, (2000, 1000, 4, 500)))
        for dataset in DATASETS
        for seed in range(5)
        for method in METHODS
    ]


def compute(cell: Cell) -> list[Record]:
    """One record per client: the metrics, or the error that a method met."""
    draw = _drawn(cell)
    try:
        outcomes = METHODS[cell.method](draw)
    except Exception as error:  # the table says which method failed, and on what
        outcomes = dict.fromkeys(draw.clients, as_note(error))
    return [
        {"noise": client.noise, "alpha": client.skew, **_judged(client.spoilt, outcomes[name], client.noise)}
        for name, client in draw.clients.items()
    ]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds of every metric, and how often the method failed."""
    return mean_and_spread(records, ["dataset", "noise", "alpha", "method"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """One table per data set and metric: clients down, methods across."""
    titles = {
        "auroc": "AUROC of spoilt rows by value, which does not know what kind of noise to look for",
        "channel": "AUROC by the label score for labels, by the feature score for features, where a method has them",
        "precision": "precision among the k worst rows, k = number of spoilt rows",
        "fdr": f"realised false-discovery rate of the flags at q = {FDR}",
        "recall": f"recall of the flags at q = {FDR}",
        "suggestions": "share of right suggested labels among wrong labels",
    }
    return "# Detection of spoilt rows\n\nMean ± standard deviation over seeds.\n\n" + pivots(
        final, by="dataset", down=["noise", "alpha"], across="method", titles=titles
    )


def pictures(final: pd.DataFrame) -> list[Display]:
    """AUROC against label skew, a panel for each data set: the label score for labels, the feature score for noise."""
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
    noises, alphas = (("labels 10 %", "features 1 σ"), (1.0,)) if cell.few else (tuple(NOISES), ALPHAS)
    clients = {}
    for number, (noise, alpha) in enumerate(product(noises, alphas)):
        kind, share, sigma = NOISES[noise]
        rows = data.rows(cell.client_rows, alpha, seed=_seed(cell, number))
        spoilt = data.client(rows, kind, share, sigma=sigma, seed=_seed(cell, number))
        clients[f"{noise}, {alpha:g}"] = Client(noise, alpha, rows, spoilt)
    return Draw(cell, data, clients)


def _valued(protocol: str, *, calibration: str = "split", **settings: Any) -> Callable[[Draw], Outcome]:
    """A method that is a protocol of fedbary: all clients in one run, so that the reference is fitted once."""

    def method(draw: Draw) -> Outcome:
        chosen = getattr(fb, protocol)(**settings)
        result = _value(draw.tables, draw.data.reference, chosen, draw.cell.seed, calibration=calibration)
        return {name: _rows(result, name) for name in draw.clients}

    return method


def _consensus(draw: Draw) -> Outcome:
    """Without a reference: each client among clean peers that have its kind of label skew."""
    outcome: dict[str, pd.DataFrame | Note] = {}
    for number, (name, client) in enumerate(draw.clients.items()):
        taken, parties = client.rows, {"client": client.spoilt.table}
        for peer in range(draw.cell.peers):
            seed = _seed(draw.cell, 1000 + 100 * number + peer)
            rows = draw.data.rows(draw.cell.peer_rows, client.alpha, seed=seed, without=taken)
            taken = np.concatenate([taken, rows])
            parties[f"peer_{peer + 1}"] = draw.data.pool.take(rows)
        result = _value(parties, None, fb.Consensus(), draw.cell.seed)
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


METHODS: dict[str, Callable[[Draw], Outcome]] = {
    "sketch split": _valued("Sketch", calibration="split", lower="triangle"),
    "sketch crossfit": _valued("Sketch", calibration="crossfit", lower="triangle"),
    "consensus": _consensus,
    "paper γ": _valued("Interpolation", gradient="gamma"),
    "paper η": _valued("Interpolation", gradient="eta"),
    "exact dual": _valued("Interpolation", gradient="access", rounds=1),
    "cleanlab": _baseline("cleanlab"),
    "KNN-Shapley": _baseline("knn-shapley"),
    "logistic": _logistic,
}


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


def _judged(client: Spoilt, rows: pd.DataFrame | Note, noise: str) -> Record:
    """How well the values and flags agree with what was really spoilt."""
    from sklearn.metrics import roc_auc_score

    if isinstance(rows, Note):
        return {"error": str(rows)}
    value, mask = rows["value"].to_numpy(dtype=float), client.mask
    if np.isnan(value).any():
        return {"error": f"{np.isnan(value).sum()} rows have no value"}
    # Ties are broken at random, so that no method gains from the order of the rows.
    worst = np.lexsort([np.random.default_rng(0).random(len(value)), value])[: int(mask.sum())]
    record: Record = {"auroc": float(roc_auc_score(mask, -value)), "precision": float(mask[worst].mean())}
    score = rows["label_score" if noise.startswith("labels") else "feature_score"].to_numpy(dtype=float)
    if np.isfinite(score).all():
        record["channel"] = float(roc_auc_score(mask, score))
    if rows["flag"].notna().all():
        flag = rows["flag"].to_numpy(dtype=bool)
        record["fdr"] = float((flag & ~mask).sum() / max(1, flag.sum()))
        record["recall"] = float(flag[mask].mean())
    suggested = rows["suggested_label"]
    if noise.startswith("labels") and suggested[mask].notna().any():
        right = suggested.fillna("").to_numpy(dtype=str) == class_names(client.truth)
        record["suggestions"] = float(right[mask].mean())
    return record


def _seed(cell: Cell, number: int) -> int:
    return 100_000 * (cell.seed + 1) + number
