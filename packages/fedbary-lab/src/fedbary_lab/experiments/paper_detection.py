"""The paper's Figure 5: spoilt rows of one training set, found by those who see all rows and by those who do not.

As in OpenDataVal, whose setting the paper follows: 5, 15 or 30 % of the rows get another label, or standard Gaussian
noise on their features as they are; features are embeddings of CIFAR-10, and models, where a method has one, logistic
regressions. Standard noise is 0.8 σ of our embeddings; for pixels, of which it is 3 to 4 σ, see `gradients`. 500 rows,
500 clean reference rows; cards have four clean peers instead. (OpenDataVal spoils its validation rows alike; ours stay
clean.) *Found against inspected* is the part of the spoilt rows among the x % with the lowest
values. *Positives* are the rows that the paper's rule flags, whose gradient is positive; the paper reports that these
are the noisy rows and no others. Rows of `detection`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary_lab.baselines.row_methods import ROW_METHODS
from fedbary_lab.comparison.measures import auroc
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.federations import SplitDataset, Spoilt, split_dataset
from fedbary_lab.experiments.open_methods import OpenMethods
from fedbary_lab.experiments.paper import SAYS
from fedbary_lab.experiments.sign_rule import SIGN_METRICS, signed
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots
from fedbary_lab.paper import published

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

DATASET = "cifar10-embeddings"
NOISES = {"labels": ("labels", 0.0), "features N(0, 1)": ("standard", 1.0)}
SHARES = {"5 %": 0.05, "15 %": 0.15, "30 %": 0.3}
# Percent of the rows that are inspected.
INSPECTED = tuple(range(5, 101, 5))
SHOWN = (5, 15, 30, 50)
SEEDS = 5
# Each of its cells refits a model for every row, in half a minute.
SEEDS_OF_LOO = 3
CURVE = tuple(f"found_{percent}" for percent in INSPECTED)
METRICS = (*SIGN_METRICS, *CURVE)
KEYS = ("dataset", "noise", "share", "method")


@dataclass(frozen=True)
class PaperCell:
    """One method on one training set."""

    dataset: str
    noise: str
    share: str
    method: str
    seed: int
    rows: int = 500
    reference_rows: int = 500

    def __str__(self) -> str:
        return f"paper, {self.dataset}, {self.noise} {self.share}, seed {self.seed}, {self.method}"


def cells(smoke: bool) -> list[PaperCell]:
    """Noises × shares × methods × seeds; the smoke test has one share in few digits."""
    if smoke:
        return [PaperCell("digits", "labels", "15 %", method, 0, 60, 60) for method in METHODS]
    return [
        PaperCell(DATASET, noise, share, method, seed)
        for noise, share, method in product(NOISES, SHARES, METHODS)
        for seed in range(SEEDS_OF_LOO if method.startswith("LOO") else SEEDS)
    ]


def compute(cell: PaperCell) -> list[Record]:
    """How much is found, by how many inspected rows, and by the sign of the gradient."""
    if cell.method not in METHODS:  # one of the other tables of `detection`
        return []
    client, data = drawn(cell)
    rows = METHODS[cell.method](client, data, cell)
    value = rows["value"].to_numpy(dtype=float)
    record: Record = {"auroc": auroc(value, client.mask), **found_by_inspection(value, client.mask, seed=cell.seed)}
    if cell.method in BY_SIGN:
        record |= signed(client.mask, rows.assign(flag=rows["calibrated_gradient"] > 0))
    return [record]


def drawn(cell: PaperCell) -> tuple[Spoilt, SplitDataset]:
    """The spoilt training set, the same for every method, and where its rows come from."""
    data, (kind, sigma) = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed), NOISES[cell.noise]
    rows = data.rows(cell.rows, np.inf, seed=_seed(cell))
    return data.client(rows, kind, SHARES[cell.share], sigma=sigma, seed=_seed(cell)), data


def found_by_inspection(value: NDArray[np.float64], mask: NDArray[np.bool_], *, seed: int) -> Record:
    """The part of the spoilt rows among the 5 %, 10 %, … of the rows with the lowest values, equals in random order.

    Examples
    --------
    >>> found = found_by_inspection(np.arange(20.0), np.arange(20) < 2, seed=0)
    >>> found["found_5"], found["found_10"]
    (0.5, 1.0)
    """
    worst = np.lexsort([np.random.default_rng(seed).random(len(value)), value])
    found = np.append(0, np.cumsum(mask[worst])) / max(1, mask.sum())
    return {
        name: float(found[round(len(value) * percent / 100)]) for name, percent in zip(CURVE, INSPECTED, strict=True)
    }


def _valued(protocol: Callable[[], Any], **options: Any) -> Callable[[Spoilt, SplitDataset, PaperCell], pd.DataFrame]:
    def rows(client: Spoilt, data: SplitDataset, cell: PaperCell) -> pd.DataFrame:
        engine = fb.LocalEngine(workers=1)  # the cells already fill the processors
        chosen = {"protocol": protocol(), "seed": cell.seed, "engine": engine, **options}
        return fb.value({"client": client.table}, data.reference, **chosen).rows("client")

    return rows


def _cards(client: Spoilt, data: SplitDataset, cell: PaperCell) -> pd.DataFrame:
    engine = fb.LocalEngine(workers=1)
    return fb.value(among_peers(client, data, cell), protocol=fb.Cards(), seed=cell.seed, engine=engine).rows("client")


def among_peers(client: Spoilt, data: SplitDataset, cell: PaperCell) -> dict[str, fb.Table]:
    """The training set, and four clean clients with as many rows, which are nobody else's."""
    _, *peers = data.disjoint_rows([cell.rows] * 5, np.inf, seed=_seed(cell))  # the first ones are the training set's
    return {"client": client.table, **{f"peer_{place + 1}": data.pool.take(rows) for place, rows in enumerate(peers)}}


def _seed(cell: PaperCell) -> int:
    return 100_000 * (cell.seed + 1)


def _baseline(method: str) -> Callable[[Spoilt, SplitDataset, PaperCell], pd.DataFrame]:
    def rows(client: Spoilt, data: SplitDataset, cell: PaperCell) -> pd.DataFrame:
        return ROW_METHODS[method].compute(client.table, data.reference, seed=cell.seed)

    return rows


PUBLISHED = "paper η, published"
_COMPARED: dict[str, Callable[[Spoilt, SplitDataset, PaperCell], pd.DataFrame]] = {
    "sketch": _valued(fb.Sketch),
    "cards": _cards,
    PUBLISHED: _valued(published, rule="sign"),
    "paper η": _valued(fb.Interpolation, rule="sign"),
    "LAVA": _baseline("lava"),
    "KNN-Shapley": _baseline("knn-shapley"),
    "LOO": _baseline("row-loo-loss"),
    "LOO, accuracy": _baseline("row-loo"),
}
METHODS = OpenMethods(_COMPARED, _baseline)
# Those whose values are gradients, flagged by their sign.
BY_SIGN = (PUBLISHED, "paper η", "LAVA")


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds, and the paper's success where it reports one."""
    final = mean_and_spread(records, KEYS, METRICS)
    reported = (final["method"] == PUBLISHED) & final["noise"].str.startswith("features")
    return final.assign(paper=np.where(reported, SAYS["success_features"], np.nan))


def markdown(final: pd.DataFrame) -> str:
    """AUROC, what is found by inspecting few rows, and the positives beside the noisy rows."""
    titles = {"auroc": "AUROC of spoilt rows by value"}
    titles |= {f"found_{percent}": f"part of the spoilt rows among the worst {percent} %" for percent in SHOWN}
    blocks = final.assign(block=final["dataset"] + ", the paper's setting")
    return (
        "## The paper's setting\n\nOne training set of 500 rows, 500 clean reference rows; mean ± standard deviation "
        "over seeds. Standard noise is less than 1 σ of these embeddings; of pixels it is 3 to 4 σ, see `gradients`. "
        "*LOO* is what the log-loss gains without a row, *LOO, accuracy* what the accuracy loses.\n\n"
        f"{_positives(final)}\n\n" + pivots(blocks, by="block", down=["noise", "share"], across="method", titles=titles)
    )


def _positives(final: pd.DataFrame) -> str:
    """Rows with a positive gradient beside the noisy ones, which the paper reports to be the same."""
    header = [
        "noise", "spoilt rows", "method", "positive gradients", "spoilt rows among them", "precision",
        "draws in which they are the same rows", "in the paper",
    ]  # fmt: skip
    shown = final[final["flagged"].notna()]
    rows = [
        [
            str(row["noise"]),
            number(row["spoilt"], digits=0),
            str(row["method"]),
            number(row["flagged"], row["flagged_sd"], 0),
            number(row["recall"], row["recall_sd"], 2),
            number(row["precision"], row["precision_sd"], 2),
            number(row["success"], digits=2),
            number(row["paper"], digits=2),
        ]
        for row in shown.to_dict("records")
    ]
    return f"**Positives against noisy rows**\n\n{markdown_table(header, rows)}"


def pictures(final: pd.DataFrame) -> list[Display]:
    """Found against inspected, and positives against noisy rows."""
    return [*(_inspection(final, str(noise)) for noise in dict.fromkeys(final["noise"])), _positives_picture(final)]


def _inspection(final: pd.DataFrame, noise: str) -> Display:
    from fedbary_lab.plots import curves

    shown = final[final["noise"] == noise]
    best = shown.drop_duplicates("share").assign(method="best possible")
    for name, percent in zip(CURVE, INSPECTED, strict=True):
        best[name] = [min(1.0, percent / 100 / SHARES[share]) for share in best["share"]]
    lines = _stacked([shown, best])[["share", "method", *CURVE]]
    lines = lines.melt(["share", "method"], var_name="inspected", value_name="found")
    lines["inspected"] = lines["inspected"].str.removeprefix("found_").astype(int)
    return curves(
        lines,
        x="inspected",
        y="found",
        by="method",
        panel="share",
        name=f"inspected-{fact_name(noise).replace('_', '-')}",
        title=f"Spoilt rows found against rows inspected ({noise}), a panel for each share of spoilt rows.",
        labels={"inspected": "% of the rows inspected, lowest values first", "found": "part of the spoilt rows found"},
    )


def _positives_picture(final: pd.DataFrame) -> Display:
    from fedbary_lab.plots import curves

    shown = final[final["flagged"].notna()]
    same = shown.drop_duplicates(["noise", "share"]).assign(method="spoilt rows")
    same["flagged"] = same["spoilt"]
    return curves(
        _stacked([shown, same])[["noise", "spoilt", "method", "flagged"]],
        x="spoilt",
        y="flagged",
        by="method",
        panel="noise",
        name="positives",
        title="Rows with a positive gradient against spoilt rows; the paper reports that they are the same.",
        labels={"spoilt": "spoilt rows", "flagged": "rows with a positive gradient"},
    )


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``paper_auroc_labels_15_lava``, ``paper_found_30_…``, ``paper_flagged_…``; means over shares without a share."""
    found: dict[str, float] = {}
    for row in final.to_dict("records"):
        place = fact_name(_kind(row["noise"]), str(row["share"]).removesuffix(" %"), row["method"])
        found |= {f"paper_{metric}_{place}": row[metric] for metric in ("auroc", "flagged", "recall", "precision")}
        found |= {f"paper_found_{percent}_{place}": row[f"found_{percent}"] for percent in SHOWN}
    for (noise, method), group in final.groupby(["noise", "method"], sort=False):
        place = fact_name(_kind(noise), method)
        found |= {
            f"paper_{metric}_{place}": group[metric].mean() for metric in ("auroc", "recall", "alarms", "success")
        }
        found[f"paper_positives_by_noisy_{place}"] = (group["flagged"] / group["spoilt"]).mean()
    return found


def _kind(noise: object) -> str:
    return str(noise).split(" ")[0]
