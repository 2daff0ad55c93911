"""Is the verdict right: five clients of 100 to 500 rows, one of them bad in one of nine ways.

For each data set, size of the reference and seed the server fits its model once, and every bad client is judged by it
among the same four clean ones. Without a reference the five clients, of 300 rows or more, judge each other by their
cards. A bad client is *seen* where the verdict is not to include it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.errors import SettingsError
from fedbary.valuation.verdict import Advice, Opinion
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import Rows, SplitDataset, split_dataset
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

# How many rows there are, for a reference and a pool of clients.
DATASETS = {
    "digits": 1797,
    "mnist": 25000,
    "fashion-mnist": 25000,
    "cifar10-embeddings": 25000,
    "dry-bean": 13543,
    "breast-cancer": 569,
}
REFERENCES = (100, 300, 1000, 2000)
ALPHAS = (0.3, np.inf)
CLEAN = 4
LEAST_ROWS, MOST_ROWS = 100, 500
# What stands for a reference where there is none; the clients then have more rows.
NO_REFERENCE, LEAST_ROWS_WITHOUT = 0, 300
# Rows that no client gets where there is no reference; no data set is empty then.
SET_ASIDE = 100
# No promise is made for smaller references; that about few wrong labels needs more.
FLOOR_FROM, FEW_FLOOR_FROM = 300, 1000
SEEN, FEW_SEEN, CLEAN_SEEN, WRONG_LABELS_OFF = 0.95, 0.80, 0.03, 0.04
_SAID = ("seen", "clients_seen", "left_out", "unknown")
_SHARES = (*_SAID, "covered")
METRICS = (*_SHARES, "quality", "wrong_labels", "wrong_labels_off", "odd_features")
_NUMBERS = (
    "quality", "quality_high", "wrong_labels", "wrong_labels_low", "wrong_labels_high", "odd_features", "missing",
)  # fmt: skip
KEYS = ("dataset", "reference_rows", "alpha", "fault")


@dataclass(frozen=True)
class Cell:
    """One reference and all clients that are compared with it."""

    dataset: str
    reference_rows: int
    seed: int

    @property
    def without(self) -> bool:
        """Whether there is no reference."""
        return self.reference_rows == NO_REFERENCE

    def __str__(self) -> str:
        judge = "cards" if self.without else f"{self.reference_rows} reference rows"
        return f"{self.dataset}, {judge}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × references × seeds, 20 where a floor applies; the largest first, so that no process is left alone."""
    if smoke:
        return [Cell("digits", 300, 0), Cell("digits", NO_REFERENCE, 0)]
    with_reference = [
        Cell(dataset, reference_rows, seed)
        for reference_rows in reversed(REFERENCES)
        for dataset, rows in DATASETS.items()
        if reference_rows + 2 * LEAST_ROWS <= rows
        for seed in range(20 if reference_rows >= FLOOR_FROM else 5)
    ]
    without = [
        Cell(dataset, NO_REFERENCE, seed)
        for dataset, rows in DATASETS.items()
        if rows >= SET_ASIDE + (CLEAN + 1) * LEAST_ROWS_WITHOUT
        for seed in range(20)
    ]
    return [*with_reference, *without]


def compute(cell: Cell) -> list[Record]:
    """One record per label skew and fault, and one of the clean clients that they were judged among."""
    data = _with_texts(split_dataset(cell.dataset, cell.reference_rows or SET_ASIDE, seed=cell.seed))
    federations = {f"{alpha:g}" if np.isfinite(alpha) else "∞": _federation(cell, data, alpha) for alpha in ALPHAS}
    judge = _by_cards if cell.without else _by_reference
    return [
        {"alpha": alpha, **record}
        for alpha, results in judge(cell, data, federations).items()
        for record in _judged(results)
    ]


@dataclass(frozen=True, eq=False)
class Federation:
    """Four clean clients, and the fifth with each of the faults."""

    clean: Mapping[str, fb.Table]
    bad: Mapping[str, fb.Table]


# By label skew and by fault: what is said of four clean clients and the bad one.
Judged = dict[str, dict[str, fb.Valuation]]
_ENGINE = fb.LocalEngine(workers=1)  # the cells already fill the processors


def _federation(cell: Cell, data: SplitDataset, alpha: float) -> Federation:
    seed = _seed(cell, alpha, 0)
    sizes = [_size(cell, data, seed + number) for number in range(CLEAN + 1)]
    if cell.without:  # clients that judge each other share no rows
        rows = data.disjoint_rows(sizes, alpha, seed=seed)
    else:
        rows = [data.rows(size, alpha, seed=seed + number) for number, size in enumerate(sizes)]
    bad = {fault: spoil(data, rows[CLEAN], seed=seed + CLEAN) for fault, spoil in FAULTS.items()}
    return Federation({name: data.pool.take(mine) for name, mine in zip(_CLEAN_NAMES, rows, strict=False)}, bad)


def _by_reference(cell: Cell, data: SplitDataset, federations: Mapping[str, Federation]) -> Judged:
    """One run with all clients, divided into federations as if nobody else had taken part."""
    tables = {
        f"{alpha} {name}": table
        for alpha, federation in federations.items()
        for name, table in {**federation.clean, **federation.bad}.items()
    }
    protocol = fb.Sketch(lower="triangle")
    result = fb.value(tables, data.reference, protocol=protocol, seed=cell.seed, engine=_ENGINE)
    return {alpha: {fault: _part(result, alpha, [*_CLEAN_NAMES, fault]) for fault in FAULTS} for alpha in federations}


def _by_cards(cell: Cell, data: SplitDataset, federations: Mapping[str, Federation]) -> Judged:  # noqa: ARG001
    """A run for every fault: the bad client's card is part of what judges the others."""
    return {
        alpha: {
            fault: fb.value({**federation.clean, fault: bad}, protocol=fb.Cards(), seed=cell.seed, engine=_ENGINE)
            for fault, bad in federation.bad.items()
        }
        for alpha, federation in federations.items()
    }


def _part(result: fb.Valuation, alpha: str, names: Sequence[str]) -> fb.Valuation:
    """The result of these clients, by their own names."""
    full = {f"{alpha} {name}": name for name in names}
    chosen = result.clients[result.clients["client"].isin(full)].reset_index(drop=True)
    outcomes = {short: result.outcomes[name] for name, short in full.items()}
    return replace(result, clients=chosen.assign(client=chosen["client"].map(full)), outcomes=outcomes)


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Shares of runs and means over seeds, and which of them miss a floor."""
    final = mean_and_spread(records, KEYS, METRICS)
    final = final.assign(**{f"{share}_sd": np.nan for share in _SHARES})
    promised, fault, seen = _promised(final), final["fault"], final["seen"]
    few = (fault == FEW) & (final["reference_rows"] >= FEW_FLOOR_FROM) & (seen < FEW_SEEN)
    many = ~fault.isin([FEW, NONE]) & (seen < SEEN)
    off = final["wrong_labels_off"].abs() > WRONG_LABELS_OFF
    return final.assign(
        seen_missed=promised & (few | many | ((fault == NONE) & (seen > CLEAN_SEEN))),
        wrong_labels_missed=promised & fault.isin(LABELS) & off,
    )


def markdown(final: pd.DataFrame) -> str:
    """The floors, then one table per data set and number: references and skew down, faults across."""
    titles = {
        "seen": "share of runs in which the bad client is to be looked at first or left out (other coding: or refused)",
        "left_out": "share of runs in which it is to be left out",
        "unknown": "share of runs in which nothing can be said of it",
        "quality": "quality",
        "wrong_labels": "estimated share of wrong labels",
        "covered": "share of runs in which the interval of wrong labels holds the true share",
        "odd_features": "estimated share of rows with odd features",
    }
    return (
        "# The verdict on one bad client of five\n\n"
        f"Over seeds: shares of runs, or mean ± standard deviation. *{NONE}* are the four clean clients: shares of "
        "runs in which any of them is, and means over all of them. Without a reference (*reference_rows* 0) five "
        f"clients of {LEAST_ROWS_WITHOUT} rows or more judge each other by cards. Numbers that miss a floor are "
        "bold.\n\n"
        + _floors(final)
        + pivots(final, by="dataset", down=["reference_rows", "alpha"], across="fault", titles=titles, digits=2)
    )


def _floors(final: pd.DataFrame) -> str:
    """What is promised with 300 reference rows or more, or none, how often it holds, and where it does not."""
    promised = final[_promised(final)]
    without = promised["reference_rows"] == NO_REFERENCE
    parts = {f"{FLOOR_FROM} reference rows or more": promised[~without], "no reference": promised[without]}
    rows = [[judge, *row] for judge, part in parts.items() if len(part) for row in _floors_of(part)]
    missed = promised[promised["seen_missed"] | promised["wrong_labels_missed"]].to_dict("records")
    lines = [
        f"- {row['dataset']}, {row['reference_rows'] or 'no'} reference rows, α = {row['alpha']}, {row['fault']}: seen "
        f"{number(row['seen'], digits=2)}, wrong labels off by {number(row['wrong_labels_off'])}"
        for row in missed
    ]
    header = ["judged by", "floor", "cells", "mean", "worst", "cells that miss it"]
    return "\n".join(["## Floors\n", markdown_table(header, rows), "", *lines, "", ""])


def _floors_of(promised: pd.DataFrame) -> list[list[str]]:
    titles = {
        "seen": f"bad client seen, at least {SEEN:.2f}",
        "few": f"{FEW}, {FEW_FLOOR_FROM} reference rows, at least {FEW_SEEN:.2f}",
        "clean": f"any clean client seen, at most {CLEAN_SEEN:.2f}",
        "clean_clients": "so many of the clean clients",
        "off": f"wrong labels off on average, at most {WRONG_LABELS_OFF:.2f}",
    }
    rows = []
    for name, (cells, metric, worst) in _promises(promised).items():
        if len(known := cells[metric].dropna()):
            missed = str(int(cells[f"{metric}_missed"].sum())) if f"{metric}_missed" in cells else "–"
            rows.append([titles[name], str(len(known)), number(known.mean()), number(worst), missed])
    return rows


def _promises(promised: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, str, float]]:
    """For each promise its cells, the number that it is about, and the worst of these."""
    few = promised[(promised["fault"] == FEW) & (promised["reference_rows"] >= FEW_FLOOR_FROM)]
    many, clean = promised[~promised["fault"].isin([FEW, NONE])], promised[promised["fault"] == NONE]
    labels = promised[promised["fault"].isin(LABELS)]
    off = labels.assign(off=labels["wrong_labels_off"].abs(), off_missed=labels["wrong_labels_missed"])
    return {
        "seen": (many, "seen", many["seen"].min()),
        "few": (few, "seen", few["seen"].min()),
        "clean": (clean, "seen", clean["seen"].max()),
        "clean_clients": (clean, "clients_seen", clean["clients_seen"].max()),
        "off": (off, "off", off["off"].max()),
    }


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``seen_mean``, ``few_worst``, ``without_clean_missed``, …: each promise, with a reference and ``without`` one."""
    promised = final[_promised(final)]
    without = promised["reference_rows"] == NO_REFERENCE
    found: dict[str, float] = {}
    for prefix, part in (("", promised[~without]), ("without_", promised[without])):
        for name, (cells, metric, worst) in _promises(part).items():
            missed = cells[f"{metric}_missed"].sum() if f"{metric}_missed" in cells else np.nan
            known = cells[metric].dropna()
            numbers = {"cells": len(known), "mean": known.mean(), "worst": worst, "missed": missed}
            found |= {f"{prefix}{name}_{key}": float(value) for key, value in numbers.items()}
        of_skew = part[(part["fault"] == NONE) & (part["alpha"] == "∞")]["seen"]
        found[f"{prefix}clean_worst_no_skew"] = float(of_skew.max())
    few = final[(final["fault"] == FEW) & (final["reference_rows"] == REFERENCES[0])]["seen"]
    return found | {
        "few_small_least": float(few.min()),
        "few_small_most": float(few.max()),
        "seen_floor": SEEN,
        "few_floor": FEW_SEEN,
        "clean_floor": CLEAN_SEEN,
    }


def pictures(final: pd.DataFrame) -> list[Display]:
    """How often each kind of bad client is seen, and any clean one, against the rows of the reference."""
    from fedbary_lab.plots import curves

    rows = sorted(final["reference_rows"].unique())
    mean = final.groupby(["alpha", "fault", "reference_rows"], sort=False)["seen"].mean().reset_index()
    shown = mean.sort_values("reference_rows", key=lambda column: column.map(rows.index), kind="stable")
    shown = shown.assign(
        skew="Dirichlet α = " + shown["alpha"],
        reference=[str(count) if count else "none" for count in shown["reference_rows"]],
        fault=shown["fault"].replace({NONE: "a clean client"}),
    )
    return [
        curves(
            shown[["skew", "fault", "reference", "seen"]].reset_index(drop=True),
            x="reference",
            y="seen",
            by="fault",
            panel="skew",
            name="verdict",
            title="How often the verdict sees one bad client of five, by what is wrong with it, mean of all data sets.",
            labels={"reference": "reference rows", "seen": "share of runs"},
        )
    ]


def _promised(final: pd.DataFrame) -> pd.Series:
    return (final["reference_rows"] >= FLOOR_FROM) | (final["reference_rows"] == NO_REFERENCE)


def _judged(results: Mapping[str, fb.Valuation]) -> list[Record]:
    """Each bad client among the clean ones, and these, whose record is the mean over all bad clients beside them."""
    import pandas as pd

    records, of_clean, numbers_of_clean = [], [], []
    for fault, result in results.items():
        failed = [f"{name}: {result.failed[name]}" for name in _CLEAN_NAMES if name in result.failed]
        if failed:
            return [{"fault": NONE, "error": "; ".join(failed)}]
        numbers = result.clients.set_index("client")[list(_NUMBERS)].astype(float)
        opinions = {opinion.client: opinion for opinion in result.verdict()}
        of_clean.append({"beside": fault, **_said([opinions[name] for name in _CLEAN_NAMES])})
        numbers_of_clean.append(numbers.loc[list(_CLEAN_NAMES)])
        refused = opinions[fault].advice == Advice.NOT_VALUED and fault in CODINGS
        record = {"fault": fault, **_said([opinions[fault]]), **_known(numbers.loc[[fault]])}
        if fault in LABELS and "wrong_labels" in record:
            low, high = (float(numbers[f"wrong_labels_{end}"][fault]) for end in ("low", "high"))
            record["wrong_labels_off"] = record["wrong_labels"] - LABELS[fault]
            record["covered"] = low <= LABELS[fault] <= high
        records.append(record | {"seen": record["seen"] or refused})
    shares = {share: float(np.mean([said[share] for said in of_clean])) for share in _SAID}
    words = " | ".join(f"beside {said['beside']}: {said['said']}" for said in of_clean if said["said"])
    return [*records, {"fault": NONE, **shares, "said": words, **_known(pd.concat(numbers_of_clean))}]


def _said(opinions: Sequence[Opinion]) -> Record:
    """What is said of any of these clients, with the words of those that are not included."""
    advice_of, concern = {opinion.advice for opinion in opinions}, {Advice.LOOK, Advice.LEAVE}
    words = dict.fromkeys(f"{one.advice}: {one.why}" for one in opinions if one.advice != Advice.INCLUDE)
    return {
        "seen": bool(advice_of & concern),
        "clients_seen": float(np.mean([opinion.advice in concern for opinion in opinions])),
        "left_out": Advice.LEAVE in advice_of,
        "unknown": bool(advice_of - concern - {Advice.INCLUDE, Advice.NOT_VALUED}),
        "said": " | ".join(words),
    }


def _known(numbers: pd.DataFrame) -> Record:
    """Means over some clients, and of the upper ends of their qualities the least, by which one of them is judged."""
    found = numbers[["quality", "wrong_labels", "odd_features", "missing"]].mean()
    found["quality_high"] = numbers["quality_high"].min()
    return {str(name): float(value) for name, value in found.dropna().items()}


def _size(cell: Cell, data: SplitDataset, seed: int) -> int:
    """A client's rows, few enough that a small pool leaves room for label skew, or for five clients."""
    least = LEAST_ROWS_WITHOUT if cell.without else LEAST_ROWS
    parts = CLEAN + 1 if cell.without else 2
    most = min(MOST_ROWS, len(data.pool) // parts)
    if most < least:
        rows, aside = len(data.pool) + len(data.reference), cell.reference_rows or SET_ASIDE
        raise SettingsError("research.data-too-small", rows=rows, least=aside + parts * least)
    return int(np.random.default_rng([seed, 2]).integers(least, most, endpoint=True))


def _seed(cell: Cell, alpha: float, number: int) -> int:
    return 100_000 * (cell.seed + 1) + 100 * ALPHAS.index(alpha) + number


def _with_texts(data: SplitDataset) -> SplitDataset:
    """Labels as texts, so that they can be written in another way."""
    reference, pool = (
        part.replace(labels=np.array([f"class {label}" for label in part.labels], dtype=object))
        for part in (data.reference, data.pool)
    )
    return SplitDataset(reference, pool)


def _spoilt(data: SplitDataset, rows: Rows, *, kind: str, share: float, seed: int) -> fb.Table:
    return data.client(rows, kind, share, seed=seed).table


def _other_unit(data: SplitDataset, rows: Rows, *, seed: int) -> fb.Table:
    """One column that varies, or one coordinate of a block, a thousand times as large."""
    rng, table = np.random.default_rng([seed, 3]), data.pool.take(rows)
    columns = dict(table.columns)
    name = str(rng.choice(list(columns)))
    if columns[name].ndim == 1:
        return table.replace(columns=columns | {name: 1000.0 * columns[name]})
    spread = data.pool.columns[name].std(axis=0)
    block = columns[name].astype(np.float64)
    block[:, rng.choice(np.flatnonzero(spread >= np.median(spread)))] *= 1000.0
    return table.replace(columns=columns | {name: block})


def _other_coding(data: SplitDataset, rows: Rows, *, share: float, seed: int) -> fb.Table:
    """Some or all labels in capitals."""
    table = data.pool.take(rows)
    changed = np.random.default_rng([seed, 4]).permutation(len(table)) < round(share * len(table))
    shouted = np.array([str(label).upper() for label in table.labels], dtype=object)
    return table.replace(labels=np.where(changed, shouted, table.labels))


def _with_gaps(data: SplitDataset, rows: Rows, *, share: float, seed: int) -> fb.Table:
    rng, table = np.random.default_rng([seed, 5]), data.pool.take(rows)
    columns = {
        name: np.where(rng.random(column.shape) < share, np.nan, column) for name, column in table.columns.items()
    }
    return table.replace(columns=columns)


_CLEAN_NAMES = tuple(f"clean {number}" for number in range(CLEAN))
NONE, FEW = "none", "labels 10 %"
LABELS = {FEW: 0.1, "labels 20 %": 0.2, "labels 40 %": 0.4}
CODINGS = ("other coding", "half other coding")
FAULTS: dict[str, Callable[..., fb.Table]] = {
    **{name: partial(_spoilt, kind="labels", share=share) for name, share in LABELS.items()},
    "pair flips 20 %": partial(_spoilt, kind="pairs", share=0.2),
    "features 1 σ, 20 %": partial(_spoilt, kind="features", share=0.2),
    "column × 1000": _other_unit,
    "other coding": partial(_other_coding, share=1.0),
    "half other coding": partial(_other_coding, share=0.5),
    "half of the cells missing": partial(_with_gaps, share=0.5),
}
