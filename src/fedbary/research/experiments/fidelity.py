"""How well every method agrees with retraining: the paper's five cases, and five in which clients depend on each other.

Two truths, because FedAvg is not the only way to train: exactFed retrains FedAvg on every coalition, *pooled* fits a
logistic regression to the coalition's rows in one place. Beside each stands its ceiling, the same trained models judged
by 1000 other test rows: nobody can be expected to agree better than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.research.comparison import PROTOCOL_METHODS, agreement, protocol_scores
from fedbary.research.experiments.cells import Record
from fedbary.research.experiments.tables import mean_and_spread, pivots
from fedbary.research.experiments.truths import CEILING, Cell, cells, draw, truths
from fedbary.research.experiments.worth import VARIANTS, played
from fedbary.valuation.scores import ClientScores

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cells", "compute", "markdown", "table"]

EQUAL = "equal split"
# The game alone, on cards made in other ways; whole runs of protocols are timed with all they do.
GAMES = {
    "worth, game alone": "exact",
    "worth, guarded": "guarded",
    "worth, trust_server": "guarded, trust_server",
    "worth, ε = 8": "ε = 8, 24 public coordinates",
}
METRICS = (
    "spearman", "kendall", "share_error", "pooled_spearman", "pooled_kendall", "pooled_share_error", "seconds",
    "evaluations",
)  # fmt: skip
# The coalition value that cards replaced, mean over all cases: its last figures, computed at commit 2af5c63.
FORMER = {
    "cifar10-embeddings, N = 5": {"spearman": 0.70, "pooled_spearman": 0.74},
    "fashion-mnist, N = 5": {"spearman": 0.60, "pooled_spearman": 0.82},
    "cifar10-embeddings, N = 10": {"spearman": 0.63, "pooled_spearman": 0.68},
    "fashion-mnist, N = 10": {"spearman": 0.48, "pooled_spearman": 0.74},
}
# Where a truth agrees with itself as well as that, methods can be expected to agree with it.
KNOWABLE, WANTED = 0.8, 0.85
# The game takes at most this part of exactFed's time with ten clients.
QUICK = 1 / 50


def compute(cell: Cell) -> list[Record]:
    """Agreement of every method with both truths, and what it costs."""
    drawn = draw(cell)
    true = truths(cell, drawn)
    scores = true | drawn.trained(cell).others()
    tables, engine = drawn.clients, fb.LocalEngine(workers=1)
    for name in PROTOCOL_METHODS:
        scores[name] = protocol_scores(name, tables, drawn.test, seed=cell.seed, engine=engine)
    for name, variant in GAMES.items():
        scores[name] = played(VARIANTS[variant], tables, drawn.test, seed=cell.seed)[0]
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
        [mean_and_spread(records.assign(case="mean"), keys, METRICS), mean_and_spread(records, keys, METRICS)],
        ignore_index=True,
    )


def markdown(final: pd.DataFrame) -> str:
    """Agreement and cost of every method: the means over all cases first, then case by case."""
    named = final.assign(
        federation=[f"{data}, N = {n}" for data, n in zip(final["dataset"], final["clients"], strict=True)]
    )
    overall = named[named["case"] == "mean"].assign(
        spearman_sd=np.nan, pooled_spearman_sd=np.nan, share_error_sd=np.nan
    )
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
        "\n".join(f"- {line}" for line in claims(named)) + "\n",
        pivots(overall, by="everything", down=["method"], across="federation", titles=titles, digits=digits),
        pivots(
            named[named["case"] != "mean"],
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


def claims(named: pd.DataFrame) -> Iterator[str]:
    """What was asked of the worth, and whether it holds, in a line each."""
    keys = ("federation", "case", "method")
    numbers: dict[tuple[str, ...], dict[str, float]] = {
        tuple(str(line[key]) for key in keys): {metric: float(line[metric]) for metric in METRICS}
        for line in named.to_dict("records")
    }
    for federation, former in FORMER.items():
        if (now := numbers.get((federation, "mean", "worth"))) is not None:
            pairs = ", ".join(f"{now[metric]:.2f} ({before:.2f})" for metric, before in former.items())
            ahead = all(now[metric] >= before for metric, before in former.items())
            yield f"{federation}: worth (the former coalition value), exactFed and pooled: {pairs}{_missed(ahead)}."
    knowable = [
        numbers[federation, case, "worth"]["pooled_spearman"]
        for (federation, case, method), line in numbers.items()
        if method == "pooled" + CEILING and case != "mean" and line["pooled_spearman"] > KNOWABLE
    ]
    if knowable:
        mean = float(np.mean(knowable))
        yield (
            f"Mean, pooled, over the {len(knowable)} cases whose ceiling exceeds {KNOWABLE:g}: {mean:.3f}, "
            f"asked for {WANTED:g}{_missed(mean >= WANTED)}."
        )
    for federation in FORMER:
        game, exact = (numbers.get((federation, "mean", name)) for name in ("worth, game alone", "exactfed"))
        if federation.endswith("10") and game is not None and exact is not None:
            part = exact["seconds"] / max(game["seconds"], 1e-9)
            yield f"{federation}: the game takes 1/{part:.0f} of exactFed's time{_missed(part >= 1.0 / QUICK)}."


def _missed(holds: bool) -> str:
    return "" if holds else ", **missed**"
