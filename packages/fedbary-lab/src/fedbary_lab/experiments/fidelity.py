"""How well every method agrees with retraining: the paper's five cases, and five in which clients depend on each other.

Two truths, because FedAvg is not the only way to train: exactFed retrains FedAvg on every coalition, *pooled* fits a
logistic regression to the coalition's rows in one place. Beside each stands its ceiling, the same trained models judged
by 1000 other test rows: nobody can be expected to agree better than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.valuation.clients import ClientScores
from fedbary_lab.comparison import PROTOCOL_METHODS, agreement, protocol_scores
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.tables import mean_and_spread, pivots
from fedbary_lab.experiments.trained import draw_seed
from fedbary_lab.experiments.truths import CEILING, Cell, cells, draw, truths
from fedbary_lab.experiments.worth import VARIANTS, played

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

__all__ = ["cells", "compute", "facts", "markdown", "pictures", "table"]

EQUAL = "equal split"
# The game alone, on cards made in other ways; whole runs of protocols are timed with all they do.
GAME = "worth, game alone"
GAMES = {
    GAME: "exact",
    "worth, guarded": "guarded",
    "worth, trust_server": "guarded, trust_server",
    "worth, ε = 8": "ε = 8, 24 public coordinates",
}
METRICS = (
    "spearman", "kendall", "share_error", "pooled_spearman", "pooled_kendall", "pooled_share_error", "seconds",
    "evaluations",
)  # fmt: skip
# Where a truth agrees with itself as well as that, methods can be expected to agree with it.
KNOWABLE = 0.8
# DataSV trains the coalitions of ten clients a few at a time, in most of a cell's time.
LEFT_OUT = {10: ("datasv",)}
MEAN = "mean"
_SHORT = {"cifar10-embeddings": "embeddings", "fashion-mnist": "fashion"}


def compute(cell: Cell) -> list[Record]:
    """Agreement of every method with both truths, and what it costs."""
    drawn, sampling = draw(cell), draw_seed(cell)
    trained = drawn.trained(cell)
    true = truths(trained)
    scores = true | trained.others(*LEFT_OUT.get(cell.clients, ()))
    tables, engine = drawn.clients, fb.LocalEngine(workers=1)
    for name in (name for name in PROTOCOL_METHODS if name != "published"):
        scores[name] = protocol_scores(name, tables, drawn.test, seed=sampling, engine=engine)
    for name, variant in GAMES.items():
        scores[name] = played(VARIANTS[variant], tables, drawn.test, seed=sampling)[0]
    equal = np.full(cell.clients, 1.0 / cell.clients)
    scores[EQUAL] = ClientScores(EQUAL, tuple(tables), equal, np.zeros(cell.clients))
    records = []
    for name, found in scores.items():
        record: Record = {"method": name}
        if name != EQUAL and not name.endswith(CEILING):
            record |= {"seconds": found.seconds, "evaluations": found.evaluations}
        if name not in ("exactfed", "pooled" + CEILING):
            record |= agreement(found, true["exactfed"])
        if name not in ("pooled", "exactfed" + CEILING):
            record |= {f"pooled_{key}": number for key, number in agreement(found, true["pooled"]).items()}
        records.append(record)
    return records


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; the case ``mean`` is over all cases as well."""
    import pandas as pd

    keys = ["dataset", "clients", "case", "method"]
    return pd.concat(
        [mean_and_spread(records.assign(case=MEAN), keys, METRICS), mean_and_spread(records, keys, METRICS)],
        ignore_index=True,
    )


def markdown(final: pd.DataFrame) -> str:
    """Agreement and cost of every method: the means over all cases first, then case by case."""
    named = final.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)]
    )
    overall = named[named["case"] == MEAN].assign(spearman_sd=np.nan, pooled_spearman_sd=np.nan, share_error_sd=np.nan)
    overall = overall.assign(pooled_share_error_sd=np.nan, seconds_sd=np.nan, everything="All cases: means")
    titles = {
        "spearman": "Spearman with exactFed",
        "pooled_spearman": "Spearman with pooled regression",
        "share_error": "mean absolute difference of shares, exactFed",
        "pooled_share_error": "mean absolute difference of shares, pooled regression",
        "seconds": "seconds (one thread; without the one training that is logged)",
    }
    digits = dict.fromkeys(METRICS, 2) | {"share_error": 3, "pooled_share_error": 3, "evaluations": 0}
    parts = [
        "# Fidelity\n",
        "Against the Shapley value of FedAvg retrained on every coalition (exactFed), and of a logistic regression "
        "fitted to every coalition's rows in one place (pooled). A ceiling is a truth against itself on other test "
        "rows, which methods that share its test rows can exceed. Cases 1 to 5 are the paper's with 500 rows a client; "
        "complement, pairs, sizes, flips and mixed are those of `experiments/scenarios.py`. In case 1 all clients are "
        "alike: there is no order to find. Protocols are timed with all they do, valuing every row included; the game "
        "alone is what the Shapley values take, once cards are there. *Guarded*, *trust_server* and ε: the game on "
        "cards that are made so ([frontier](../worth.md)).\n",
        "Five clients: three seeds of all cases. Ten: one seed of the cases in which clients depend on each other, and "
        "no DataSV, as more would take hours of one core. All clients train in all rounds, so that FedShapley and "
        "ComFedSV are MR.\n",
        pivots(overall, by="everything", down=["method"], across="federation", titles=titles, digits=digits),
        pivots(
            named[named["case"] != MEAN],
            by="federation",
            down=["method"],
            across="case",
            titles=titles
            | {
                "kendall": "Kendall with exactFed",
                "pooled_kendall": "Kendall with pooled regression",
                "evaluations": "coalitions trained (exactFed, pooled, LOO, DataSV), models evaluated, or played",
            },
            digits=digits,
        ),
    ]
    return "\n".join(parts).rstrip() + "\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Means over all cases: ``pooled_fashion_5_worth``, ``exactfed_embeddings_10_mr``, ``seconds_fashion_5_gtg``, ….

    ``pooled_knowable_worth`` is over the ``knowable`` federations and cases, whose pooled ceiling exceeds 0.8;
    ``slower_fashion_10_exactfed`` is exactFed's time divided by that of the worth's game alone.
    """
    found: dict[str, float] = {}
    metrics = {"pooled_spearman": "pooled", "spearman": "exactfed", "seconds": "seconds"}
    for (dataset, clients), group in final[final["case"] == MEAN].groupby(["dataset", "clients"], sort=False):
        lines, where = group.set_index("method"), f"{_SHORT.get(str(dataset), dataset)}_{clients}"
        for metric, short in metrics.items():
            found |= {f"{short}_{where}_{_snake(name)}": float(value) for name, value in lines[metric].dropna().items()}
        if (game := found.get(f"seconds_{where}_{_snake(GAME)}")) and f"seconds_{where}_exactfed" in found:
            found[f"slower_{where}_exactfed"] = found[f"seconds_{where}_exactfed"] / game
    keys = ["dataset", "clients", "case"]
    single = final[final["case"] != MEAN]
    ceilings = single[single["method"] == "pooled" + CEILING].set_index(keys)["pooled_spearman"]
    worths = single[single["method"] == "worth"].set_index(keys)["pooled_spearman"]
    knowable = worths[worths.index.isin(ceilings[ceilings > KNOWABLE].index)]
    if len(knowable):
        found |= {"pooled_knowable_worth": float(knowable.mean()), "knowable": float(len(knowable))}
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """Fidelity against time: mean Spearman correlation with each truth against seconds, a point for each method."""
    from fedbary_lab.plots import scatter

    means = final[(final["case"] == MEAN) & final["seconds"].notna()]
    means = means.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(means["dataset"], means["clients"], strict=True)]
    )
    truths_of = {"pooled_spearman": "pooled regression", "spearman": "exactFed"}
    return [
        scatter(
            means[means[metric].notna()][["federation", "method", "seconds", metric]].reset_index(drop=True),
            x="seconds",
            y=metric,
            by="method",
            panel="federation",
            logarithmic=True,
            labels={metric: f"mean Spearman with {truth}", "seconds": "seconds"},
            name=f"fidelity-{metric.replace('_', '-')}",
            title=f"Agreement with {truth} against time, by method: further up is better, further left is quicker.",
        )
        for metric, truth in truths_of.items()
    ]


def _snake(name: object) -> str:
    plain = str(name).replace("ε = ", "epsilon ").replace(",", "").replace("-", " ")
    return "_".join(plain.split())
