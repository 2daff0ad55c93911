"""Which rows are wrong: every method on the same spoilt clients, under label skew.

For each data set and seed, a reference and 16 clients: four kinds of noise × four strengths of Dirichlet label
skew. All methods see the same rows; cards have four clean peers (three for digits) instead of the reference. Our
methods are drawn more often than the others, because floors are held against them; a few methods are tried again with
300 rows of the same references. LAVA, and leave-one-out with a refit for every row, which is affordable for digits
alone, are drawn least often. The federations of `spoilt_federations` come along, where nobody has a clean row, and the
training sets of `paper_detection`, the paper's own setting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbary.errors import as_note
from fedbary_lab.experiments import detection_facts, paper_detection, spoilt_federations
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.detection_methods import FDR, METHODS, OURS, Cell, drawn
from fedbary_lab.experiments.judged_rows import judged
from fedbary_lab.experiments.paper_detection import PaperCell
from fedbary_lab.experiments.spoilt_federations import FederationCell
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots, stacked

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

DATASETS = ("digits", "mnist", "fashion-mnist", "cifar10-embeddings", "dry-bean")
METRICS = ("auroc", "channel", "behind", "precision", "fdr", "recall", "ceiling", "unscored", "suggestions")
SEEDS, SEEDS_OF_OTHERS, SEEDS_OF_SLOW = 20, 5, 2
# Minutes of one core per draw: on which data sets they can be afforded.
SLOW = {"LAVA": DATASETS, "LOO": DATASETS[:1]}
# Methods that are tried with fewer reference rows, and one that needs none: it says the same of the same clients.
FEW_METHODS, WITHOUT_REFERENCE = (*OURS, "logistic"), "cleanlab"
RIVALS = (WITHOUT_REFERENCE, "logistic")
FEW_REFERENCE_ROWS = 300
# Fewer draws say too little of how far a mean rate is off by chance.
LEAST_SEEDS = 5
# Floors of our methods: how far `value` may be behind the better channel, on average and anywhere; which part of the
# recall that the better channel allows flags must reach, wherever it allows a half.
MEAN_BEHIND, MOST_BEHIND = 0.003, 0.01
MEAN_POWER, LEAST_POWER, CEILING_FROM = 0.75, 0.6, 0.5


def cells(smoke: bool) -> list[Cell | FederationCell | PaperCell]:
    """Data sets × seeds × methods, and the other parts; the smoke test has two clients of few digits."""
    others: list[FederationCell | PaperCell] = [*spoilt_federations.cells(smoke), *paper_detection.cells(smoke)]
    if smoke:
        return [*(Cell("digits", 0, method, 400, 120, 2, 100, few=True) for method in METHODS), *others]
    sizes = {"digits": (800, 400, 3, 150)}
    with_reference = [
        Cell(dataset, seed, method, *sizes.get(dataset, (2000, 1000, 4, 500)), used)
        for dataset in DATASETS
        for used, methods in ((None, METHODS), (FEW_REFERENCE_ROWS, FEW_METHODS))
        for method in methods
        for seed in range(_seeds(dataset, method, used))
    ]
    return [*with_reference, *others]


def _seeds(dataset: str, method: str, used: int | None) -> int:
    if method in SLOW:
        return SEEDS_OF_SLOW if dataset in SLOW[method] else 0
    return SEEDS if method in OURS and used is None else SEEDS_OF_OTHERS


def compute(cell: Cell | FederationCell | PaperCell) -> list[Record]:
    """One record per client: the metrics, or the error that a method met."""
    if isinstance(cell, FederationCell):
        return spoilt_federations.compute(cell)
    if isinstance(cell, PaperCell):
        return paper_detection.compute(cell)
    draw = drawn(cell)
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
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "clients", "share", "used_rows"])])
    federations, papers = records["clients"].notna(), records["share"].notna()
    tables = (
        (_one_by_one, ~federations & ~papers),
        (spoilt_federations.table, federations),
        (paper_detection.table, papers),
    )
    parts = [final(records[mine].reset_index(drop=True)) for final, mine in tables if mine.any()]
    final = stacked(parts)
    return final.reindex(columns=[*dict.fromkeys([*final.columns, "block", "clients", "share"])])


def _one_by_one(records: pd.DataFrame) -> pd.DataFrame:
    """The clients that are judged one by one."""
    import pandas as pd

    anyway = records[(records["method"] == WITHOUT_REFERENCE) & records["used_rows"].isna()]
    few = records["used_rows"].notna().any()
    records = pd.concat([records, anyway.assign(used_rows=FEW_REFERENCE_ROWS)]) if few else records
    main = records["used_rows"].isna()
    block = records["dataset"].where(main, records["dataset"] + f", {FEW_REFERENCE_ROWS} reference rows")
    final = mean_and_spread(records.assign(block=block), ["dataset", "block", "noise", "alpha", "method"], METRICS)
    final = final.assign(clients=np.nan)
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
    alone, federations, papers = _parts(final)
    if len(alone):
        text += floors(alone) if alone["method"].isin(OURS).any() else ""
        text += pivots(alone, by="block", down=["noise", "alpha"], across="method", titles=titles)
    text += f"\n{spoilt_federations.markdown(federations)}" if len(federations) else ""
    return text + (f"\n{paper_detection.markdown(papers)}" if len(papers) else "")


def _parts(final: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The clients that are judged one by one, the federations, and the paper's training sets."""
    federations, papers = final["clients"].notna(), final["share"].notna()
    return final[~federations & ~papers], final[federations], final[papers]


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
        "A rate that is exactly q is above it by two standard errors in about one cell of forty, by chance. Draws "
        "in which some rows got no score, since the reference has too few rows of their class, are in the AUROC by "
        "value and in recall, and not in the first two columns.\n"
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
    alone, _, papers = _parts(final)
    ours = detection_facts.facts(final[final["share"].isna()]) if len(alone) else {}
    return {**ours, **paper_detection.facts(papers)}


def pictures(final: pd.DataFrame) -> list[Display]:
    """AUROC by the better score against label skew, a panel for each data set; and those of the paper's figure."""
    alone, _, papers = _parts(final)
    main = alone[alone["block"] == alone["dataset"]]
    skew = [skew_picture(main, noise) for noise in dict.fromkeys(main["noise"].dropna())]
    return [*skew, *(paper_detection.pictures(papers) if len(papers) else [])]


def skew_picture(final: pd.DataFrame, noise: str) -> Display:
    """AUROC of one kind of noise against the Dirichlet parameter; by value where a method has no score of its own."""
    from fedbary_lab.plots import curves

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
