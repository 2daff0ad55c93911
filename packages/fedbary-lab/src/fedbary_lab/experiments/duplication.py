"""What copying pays: a client repeats its set, repeats one row, or joins once more under another name.

The paper's duplication test, one client and its distance, is in `copied_distance`. Beside it five clients of 300 rows
each share out a reward, and client_1 copies: its whole set; the one row that the sketch values most; or itself, as a
sixth client with the same rows (a sybil). Everything is divided by what client_1 had without copies, with the same
rows, seeds and test rows. *other seed* copies nothing and changes the seed of all methods alone: how far ratios move by
chance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.data.corruptions import repeat_row
from fedbary.data.table import Table
from fedbary.valuation.clients import ClientScores
from fedbary_lab.baselines.clients import METHODS, prepare
from fedbary_lab.comparison import protocol_scores
from fedbary_lab.experiments import copied_distance
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.copied_distance import Alone
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number, stacked
from fedbary_lab.training.fedavg_settings import FedAvg
from fedbary_lab.training.federation import Federation

if TYPE_CHECKING:
    import pandas as pd

DATASETS = ("cifar10-embeddings", "fashion-mnist")
NOTHING, OTHER_SEED, SYBIL = "nothing", "nothing, other seed", "itself, as another client"
SETS = {f"whole set × {times}": times for times in (2, 3)}
ROWS = {f"one row, {times} {'copies' if times > 1 else 'copy'}": times for times in (1, 10, 100, 300)}
CHANGES = (NOTHING, OTHER_SEED, *SETS, *ROWS, SYBIL)
COPIER, COPY = "client_1", "copy"
PROTOCOLS, TRAINED = ("sketch", "interpolation", "cards", "worth"), ("exactfed", "cgsv")
FIRST, BOTH = f"{SYBIL}: the first alone", f"{SYBIL}: both together"
SHORT = {NOTHING: "once", OTHER_SEED: "chance", FIRST: "sybil_first", BOTH: "sybil_both"}
SHORT |= {name: f"whole_{times}" for name, times in SETS.items()} | {name: f"row_{n}" for name, n in ROWS.items()}
MEASURES = {
    "sketch_distance": "sketch: distance",
    "sketch_share": "sketch: share",
    "interpolation_distance": "interpolation: distance",
    "interpolation_share": "interpolation: share",
    "cards_share": "cards: share",
    "worth_value": "worth: φ",
    "worth_share": "worth: share",
    "exactfed_value": "exactFed: φ",
    "exactfed_share": "exactFed: share",
    "cgsv_share": "CGSV: share",
}


@dataclass(frozen=True)
class Cell:
    """All methods on one draw of clients, one of which copies."""

    dataset: str
    change: str
    seed: int
    clients: int = 5
    rows: int = 300
    test_rows: int = 1000
    rounds: int = 10

    def __str__(self) -> str:
        return f"{self.dataset}, {self.change}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell | Alone]:
    """The paper's table, then all cells; for a smoke test three clients of few digits, and one copy of each kind."""
    alone = copied_distance.cells(smoke)
    if smoke:
        few = (NOTHING, next(iter(SETS)), next(iter(ROWS)), SYBIL)
        return [*alone, *(Cell("digits", change, 0, clients=3, rows=80, test_rows=200, rounds=2) for change in few)]
    return [*alone, *(Cell(dataset, change, seed) for dataset in DATASETS for seed in range(3) for change in CHANGES)]


def compute(cell: Cell | Alone) -> list[Record]:
    """What every method says of the client that copies; of a sybil both names together as well."""
    if isinstance(cell, Alone):
        return copied_distance.compute(cell)
    data = split_dataset(cell.dataset, cell.test_rows, seed=cell.seed)
    drawn = np.split(data.rows(cell.clients * cell.rows, np.inf, seed=cell.seed), cell.clients)
    tables = {f"client_{i + 1}": data.pool.take(rows) for i, rows in enumerate(drawn)}
    seed = cell.seed + (1000 if cell.change == OTHER_SEED else 0)
    engine = fb.LocalEngine(workers=1)
    if cell.change in ROWS:
        best = fb.value(tables, data.reference, seed=cell.seed, engine=engine).rows(COPIER)["value"].argmax()
        tables = copied(tables, cell.change, row=int(best))
    else:
        tables = copied(tables, cell.change)
    scores = {name: protocol_scores(name, tables, data.reference, seed=seed, engine=engine) for name in PROTOCOLS}
    federation = Federation.from_tables(tables, data.reference)
    trained = prepare(federation, training=FedAvg(rounds=cell.rounds, seed=seed), seed=seed, threads=1)
    scores |= {name: METHODS[name].compute(trained.setting) for name in TRAINED}
    if cell.change != SYBIL:
        return [{"copied": cell.change, **measured(scores, [COPIER])}]
    return [
        {"copied": FIRST, **measured(scores, [COPIER])},
        {"copied": BOTH, **measured(scores, [COPIER, COPY])},
    ]


def copied(tables: Mapping[str, Table], change: str, *, row: int = 0) -> dict[str, Table]:
    """The clients after client_1 has copied what the change says."""
    own = tables[COPIER].replace(ids=None)
    if change in SETS:
        return {**tables, COPIER: own.take(np.tile(np.arange(len(own)), SETS[change]))}
    if change in ROWS:
        return {**tables, COPIER: repeat_row(own, row, ROWS[change])[0]}
    return {**tables, COPY: own} if change == SYBIL else dict(tables)


def measured(scores: Mapping[str, ClientScores], names: list[str]) -> dict[str, float]:
    """Every measure of these clients together; there is no distance of two."""
    found = {}
    for method, given in scores.items():
        places = [given.clients.index(name) for name in names]
        found[f"{method}_share"] = float(given.shares[places].sum())
        found[f"{method}_value"] = float(given.values[places].sum())
        if len(places) == 1 and method in PROTOCOLS and method != "worth":
            found[f"{method}_distance"] = 1.0 / float(given.values[places[0]])
    return {measure: found[measure] for measure in MEASURES if measure in found}


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds: first what client_1 has without copies, then ratios to that, seed by seed.

    Lines with a ``protocol`` are those of one client alone, the paper's table.
    """
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "protocol", "copied", "change"])])
    single = records["protocol"].notna()
    shared = records[~single]
    shared = shared.assign(copied=shared["copied"].where(shared["copied"].notna(), shared["change"]))
    alone = copied_distance.table(records[single])
    final = stacked([alone, mean_and_spread(ratios(shared), ["dataset", "copied"], list(MEASURES))])
    return final.reindex(columns=[*dict.fromkeys(["dataset", "protocol", "rows", "copied", *final.columns])])


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Those of `copied_distance`, and what copying pays: ``pays_whole_2_fashion_cgsv_share``, ….

    Short names of copies: ``whole_2``, ``whole_3``, ``row_1`` to ``row_300``, ``sybil_first`` and ``sybil_both``;
    ``pays_once`` is the measure itself, without copies, and ``pays_chance`` that of another seed as a ratio.
    """
    alone, shared = _parts(final)
    found = copied_distance.facts(alone)
    for line in shared[shared["copied"].isin(list(SHORT))].to_dict("records"):
        where = {"cifar10-embeddings": "embeddings", "fashion-mnist": "fashion"}.get(line["dataset"], line["dataset"])
        found |= {
            f"pays_{SHORT[line['copied']]}_{where}_{measure}": float(line[measure])
            for measure in MEASURES
            if np.isfinite(line[measure])
        }
    return found


def ratios(records: pd.DataFrame) -> pd.DataFrame:
    """Every record divided by the one of its data set and seed that copies nothing, which stays as it is."""
    keys = ["dataset", "seed"]
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, *MEASURES])])
    base = records[records["copied"] == NOTHING].set_index(keys)[list(MEASURES)].astype(float)
    divided = records.copy()
    for place, record in records.iterrows():
        if record["copied"] != NOTHING and (record["dataset"], record["seed"]) in base.index:
            before = base.loc[(record["dataset"], record["seed"])]
            divided.loc[place, list(MEASURES)] = record[list(MEASURES)].astype(float) / before
    return divided


def markdown(final: pd.DataFrame) -> str:
    """One table per data set: kinds of copies down, measures across."""
    alone, shared = _parts(final)
    parts = [
        "# Copying\n",
        *(copied_distance.markdown(alone) if len(alone) else []),
        "## What copying pays\n",
        "Five clients with 300 rows each, all drawn alike; client_1 copies. The first line is what it has without "
        "copies; all others are ratios to that, of the same rows, test rows and seed: 1 means that copying changes "
        "nothing, more than 1 that it pays (a distance is better when it is small). The row that is repeated is the "
        "one that the sketch values most. A sixth client with the same rows is valued beside the first: what counts "
        "for their owner is both together. *Other seed* copies nothing and changes the seed of all methods: how far "
        "ratios move by chance. Copies are exact: somebody who hides them, by a little noise, is not studied here.\n",
        "By construction:\n",
        "- A distance between distributions does not see a set that is repeated as a whole: weights are shares of "
        "rows. One row repeated k times gets the weight (k + 1)/(300 + k), and the distribution moves towards it.\n"
        "- In the interpolation no row may be more than a fifth of a point that leaves, so a client in which one row "
        "weighs more allows fewer points. All clients then have as few: distances grow, shares hardly change. From 100 "
        "copies on it is too small to be compared (–).\n"
        "- A card counts different rows, so copies inside a client change neither its distance nor its worth.\n"
        "- Methods that train count rows: FedAvg weighs clients by them and takes more steps with more of them, and in "
        "CGSV they weigh the first round.\n"
        "- Shares by 1/distance value every client on its own. They cannot tell a copy from another client, so a "
        "sixth equal client takes its owner from 1/5 to 2/6 of the reward: a ratio of about 5/3. In a Shapley value "
        "the copy adds nothing to its original, but each of them still adds to coalitions without the other: together "
        "they can have more than one had, at the expense of the others.\n",
        "Mean ± standard deviation over seeds.\n",
    ]
    for dataset, group in shared.groupby("dataset", sort=False):
        rows = [
            [str(row["copied"]), *(number(row[m], row[f"{m}_sd"]) for m in MEASURES)]
            for row in group.to_dict("records")
        ]
        parts += [f"### {dataset}\n", markdown_table(["client_1 copies", *MEASURES.values()], rows), ""]
    parts += errors(shared, ["dataset", "copied"])
    return "\n".join(parts).rstrip() + "\n"


def _parts(final: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The lines of one client alone, and those of clients that share."""
    alone = final["protocol"].notna()
    return final[alone], final[~alone]
