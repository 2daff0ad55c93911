"""Different is not bad: clients that are sites, the last of them bad in one of eight ways, and natural groups.

Each client has its own harmless site effect (`site_federations`), the reference has none. A client is *blamed*, or a
bad one *seen*, where the verdict is to look at it first or to leave it out. Images and embeddings are reduced to 64
principal directions of all rows, each with standard deviation 1. Tables of few rows have smaller clients. Besides,
real tables that are divided by a column of their own (`natural_groups`): whoever is blamed there is blamed wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.errors import SettingsError
from fedbary.valuation.verdict import Advice
from fedbary_lab.experiments import natural_groups
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import Spoilt, split_dataset
from fedbary_lab.experiments.site_federations import AT_RANDOM, NEAREST, NONE, accuracy_lost, sites
from fedbary_lab.experiments.site_floors import KEYS, floors
from fedbary_lab.experiments.tables import markdown_table, mean_and_spread, number, pivots

if TYPE_CHECKING:
    import pandas as pd

COORDINATES, SEEDS = 64, 12
EFFECTS, SKEWS = (0.5, 0.2, 0.0), {"∞": np.inf, "0.3": 0.3}
# Clients and their rows; sizes of the reference; rows that a model is tested on.
USUAL = (((20, 100), (5, 400)), (1000, 300, 100, 0), 1000)
DATASETS = {
    **dict.fromkeys(("mnist", "fashion-mnist", "cifar10-embeddings", "dry-bean"), USUAL),
    "digits": (((10, 100), (5, 200)), (300, 100, 0), 300),
    "breast-cancer": (((5, 80),), (100, 0), 60),
}
_NUMBERS = ("quality", "wrong_labels", "wrong_labels_low", "wrong_labels_high", "odd_features", "shift", "blur")
METRICS = (
    "seen", "blamed", "unknown", "accuracy_lost", *_NUMBERS, "off", "covered", "auroc", "flagged", "false",
    "false_rate", "any_flag", "recall",
)  # fmt: skip
_CONCERN = (Advice.LOOK, Advice.LEAVE)
_BAD = "bad"
_ENGINE = fb.LocalEngine(workers=1)  # the cells already fill the processors


@dataclass(frozen=True)
class Cell:
    """A federation, and all faults of its last client."""

    dataset: str
    clients: int
    rows: int
    effect: float
    reference_rows: int
    alpha: str
    seed: int

    def __str__(self) -> str:
        return (
            f"{self.dataset}, {self.clients} × {self.rows}, effect {self.effect:g}, "
            f"{self.reference_rows or 'no'} reference rows, α = {self.alpha}, seed {self.seed}"
        )


@dataclass(frozen=True)
class GroupsCell:
    """A real table by groups of its own, judged by each other or by the first of them."""

    natural: str
    reference: str

    def __str__(self) -> str:
        return f"{self.natural}, {self.reference}"


NO_REFERENCE, FIRST_GROUP = "no reference", "first group as reference"


def cells(smoke: bool) -> list[Cell | GroupsCell]:
    """Data sets × sizes × references × effects × skews × seeds, those that take longest first; then natural groups."""
    names = map(str, natural_groups.installed())
    natural = [GroupsCell(name, reference) for name in names for reference in (NO_REFERENCE, FIRST_GROUP)]
    if smoke:
        return [Cell("digits", 4, 60, 0.5, 60, "∞", 0), Cell("digits", 4, 60, 0.5, 0, "0.3", 0), *natural[:2]]
    grid = [
        Cell(dataset, clients, rows, effect, reference_rows, alpha, seed)
        for dataset, (sizes, references, _) in DATASETS.items()
        for clients, rows in sizes
        for reference_rows in references
        for effect in EFFECTS
        for alpha in SKEWS
        for seed in range(SEEDS)
    ]
    return [*grid, *natural]


def compute(cell: Cell | GroupsCell) -> list[Record]:
    """One record per fault, or per natural group."""
    if isinstance(cell, GroupsCell):
        return _of_groups(cell)
    _, references, test_rows = DATASETS.get(cell.dataset, USUAL)
    # The same rows are set aside whatever the reference, so that the same clients are judged by all of them.
    most, seed = max(references), 1000 * (cell.seed + 1)
    data = split_dataset(cell.dataset, most + test_rows, seed=cell.seed, coordinates=COORDINATES)
    if len(data.pool) < cell.clients * cell.rows:
        least = most + test_rows + cell.clients * cell.rows
        raise SettingsError("research.data-too-small", rows=len(data.reference) + len(data.pool), least=least)
    rows = data.disjoint_rows([cell.rows] * cell.clients, SKEWS[cell.alpha], seed=seed)
    reference = data.reference.take(np.arange(cell.reference_rows)) if cell.reference_rows else None
    lost = accuracy_lost(data, data.reference.take(np.arange(most, most + test_rows)), rows, seed=seed)
    clean, spoilt = sites(data, rows, cell.effect, seed=seed)
    records = []
    for fault, bad in spoilt.items():
        clients = {**clean, _BAD: bad.table}
        result = fb.value(clients, reference, protocol=fb.Cards(), seed=cell.seed, engine=_ENGINE)
        known = {"accuracy_lost": lost[fault]} if fault in lost else {}
        records.append({"fault": fault, **_said(result, fault, bad), **_of_rows(result, bad), **known})
    return records


def _said(result: fb.Valuation, fault: str, bad: Spoilt) -> Record:
    """The verdict on the bad client and on the clean ones, to which it belongs without a fault; and its estimates.

    Its true share of wrong labels is also that beyond the others', which have none.
    """
    opinions = {opinion.client: opinion for opinion in result.verdict()}
    clean = [opinion for name, opinion in opinions.items() if name != _BAD or fault == NONE]
    blamed = [opinion for opinion in clean if opinion.advice in _CONCERN]
    numbers = result.clients.set_index("client").reindex(columns=list(_NUMBERS)).loc[[_BAD]].astype(float)
    found: Record = {
        "seen": opinions[_BAD].advice in _CONCERN,
        "clean": len(clean),
        "blamed": len(blamed) / len(clean),
        "unknown": float(np.mean([opinion.advice == Advice.UNKNOWN for opinion in clean])),
        "why": " | ".join(dict.fromkeys(f"{opinion.advice}: {opinion.why}"[:300] for opinion in blamed)),
        **{str(name): float(value) for name, value in numbers.dropna(axis=1).iloc[0].items()},
    }
    if fault in (NONE, AT_RANDOM, NEAREST) and {"wrong_labels", "wrong_labels_low", "wrong_labels_high"} <= set(found):
        true = float(bad.mask.mean())
        found["off"] = found["wrong_labels"] - true
        found["covered"] = found["wrong_labels_low"] - 1e-9 <= true <= found["wrong_labels_high"] + 1e-9
    return found


def _of_rows(result: fb.Valuation, bad: Spoilt) -> Record:
    """How well values order the bad client's rows, and which rows of the whole federation are flagged."""
    from sklearn.metrics import roc_auc_score

    found: Record = {}
    rows = {name: result.rows(name) for name, outcome in result.outcomes.items() if outcome.ok}
    if _BAD in rows and 0 < bad.mask.sum() < len(bad.mask) and rows[_BAD]["value"].notna().all():
        found["auroc"] = float(roc_auc_score(bad.mask, -rows[_BAD]["value"].to_numpy(dtype=float)))
    if any(frame["flag"].notna().any() for frame in rows.values()):
        flags = {name: frame["flag"].fillna(value=False).to_numpy(dtype=bool) for name, frame in rows.items()}
        flagged = sum(int(mine.sum()) for mine in flags.values())
        right = int((flags[_BAD] & bad.mask).sum()) if _BAD in flags else 0
        false = flagged - right
        found |= {"flagged": flagged, "false": false, "false_rate": false / max(flagged, 1), "any_flag": flagged > 0}
        found |= {"recall": right / int(bad.mask.sum())} if bad.mask.any() else {}
    return found


def _of_groups(cell: GroupsCell) -> list[Record]:
    clients, reference = dict(natural_groups.find(cell.natural).groups()), None
    sizes = {name: len(group) for name, group in clients.items()}
    if cell.reference == FIRST_GROUP:
        reference = clients.pop(next(iter(clients)))
    result = fb.value(clients, reference, protocol=fb.Cards(), seed=0, engine=_ENGINE)
    return [
        {
            "group": opinion.client,
            "rows": sizes[opinion.client],
            "blamed": opinion.advice in _CONCERN,
            "advice": str(opinion.advice),
            "why": opinion.why[:300],
        }
        for opinion in result.verdict()
    ]


def table(records: pd.DataFrame) -> pd.DataFrame:
    """The floors, then means over seeds, then the natural groups, told apart by ``part``."""
    import pandas as pd

    of_groups = ["natural", "reference", "group", "rows", "blamed", "advice", "why", "error"]
    known = [*dict.fromkeys([*records, *KEYS, *METRICS, "clean", "seed", *of_groups])]
    records = records.reindex(columns=known).assign(blamed=lambda all_of: all_of["blamed"].astype(float))
    natural = records["natural"].notna()
    runs, groups = records[~natural], records.loc[natural, of_groups]
    parts = {
        "floor": floors(runs[runs["error"].isna()], groups[groups["error"].isna()]),
        "cell": mean_and_spread(runs, KEYS, METRICS) if len(runs) else runs,
        "group": groups,
    }
    return pd.concat([part.assign(part=name) for name, part in parts.items() if len(part)], ignore_index=True)


def markdown(final: pd.DataFrame) -> str:
    """The floors, the natural groups, and one table per data set and number, faults across."""
    text = (
        "# Clients that are sites\n\n"
        "Every client has a harmless site effect of its own: the mean of each column or coordinate is moved by "
        "*effect* of the pool's standard deviations times a normal draw, its spread multiplied by the exponential of a "
        "third of that; the reference has none. The last client is bad besides. Blamed is who is to be looked at first "
        f"or left out. Images and embeddings are {COORDINATES} principal directions, standardised. Floors that do not "
        "hold are bold.\n\n"
    )
    text += _floors(final[final["part"] == "floor"])
    if len(groups := final[final["part"] == "group"]):
        text += _natural(groups)
    if len(runs := final[final["part"] == "cell"]):
        titles = {
            "seen": "share of runs in which the bad client is to be looked at first or left out",
            "blamed": "share of clean clients that are",
            "auroc": "AUROC of `value`, bad rows of the bad client against its others",
            "false_rate": "share of flagged rows that are clean, over the whole federation",
        }
        whole = dict.fromkeys(("clients", "rows", "reference_rows", "errors", "seeds"), int)
        runs = runs.fillna({"clients": 0, "rows": 0, "reference_rows": 0}).astype(whole)
        runs = runs.assign(**{f"{name}_sd": np.nan for name in titles})
        down = ["clients", "rows", "effect", "reference_rows", "alpha"]
        text += pivots(runs, by="dataset", down=down, across="fault", titles=titles, digits=2)
    return text.rstrip() + "\n"


def _floors(lines: pd.DataFrame) -> str:
    header = ["floor", "promised", "cells", "mean", "worst", "cells that miss it"]
    rows = []
    for line in lines.to_dict("records"):
        title = line["floor"] if line["holds"] else f"**{line['floor']}**"
        missed = number(line["missed"], digits=0)
        rows.append([title, line["bound"], f"{line['cells']:.0f}", number(line["mean"]), number(line["worst"]), missed])
    return f"## Floors\n\n{markdown_table(header, rows)}\n\n"


def _natural(groups: pd.DataFrame) -> str:
    """Each table and its division: how many groups there are, and what is said of those that are blamed."""
    rows = []
    for (natural, reference), part in groups.groupby(["natural", "reference"], sort=False):
        blamed = part[part["blamed"] == 1.0].to_dict("records")
        why = [*(f"{one['group']}: {one['why']}" for one in blamed), *part["error"].dropna()]
        counts = len(part), len(blamed), int((part["advice"] == str(Advice.UNKNOWN)).sum())
        rows.append([str(natural), str(reference), *map(str, counts), "; ".join(why) or "–"])
    header = ["table", "judged by", "groups", "blamed", "nothing can be said", "why"]
    return f"## Natural groups\n\nNothing is planted.\n\n{markdown_table(header, rows)}\n\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``clean_mean``, ``random_worst``, ``natural_no_reference_missed``, …: each floor by its name."""
    lines = final[final["part"] == "floor"].to_dict("records")
    return {f"{line['name']}_{key}": line[key] for line in lines for key in ("cells", "mean", "worst", "missed")}
