"""How many points S and rounds K a distance needs: the paper's "Hyperparameter Analysis" and the figure beside it.

The paper says that K hardly matters, that the distance approaches the exact one with S, and that the order of the
clients is the same for every S. Five clients as in its cases 4 (wrong labels) and 5 (noisy features), and as in cases 2
and 3, whose clients differ in other ways; S from 10 to one point per row, K from 1 to 50, t = 0.5 and drawn anew. The
guards are lifted to see the whole range; in a federation S is at most rows/``min_group``. The exact distance is that of
all rows in the space that the protocol itself used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import mean_and_spread, pivots

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display


DATASETS = ("cifar10-embeddings", "fashion-mnist")
CASES = {4: "wrong labels", 5: "noisy features", 2: "different classes", 3: "different sizes"}
NOISY = (4, 5)
SUPPORTS = (10, 30, 100, 250)
ROUNDS = (1, 2, 3, 5, 10, 20, 50)
PAPER_ROUNDS = 10
STEPS = {"t = 0.5": 0.5, "random t": None}
CLIENTS = 5
ALL_ROWS, EXACT = "m", "exact"
MIDDLE = "100"  # the paper's usual S
OWN = tuple(f"client_{place + 1}" for place in range(CLIENTS))
METRICS = ("distance", "relative_error", "spearman_exact", "same_order", "spearman_noise", "exact_noise", *OWN)
METRICS += tuple(f"exact_{name}" for name in OWN)


@dataclass(frozen=True)
class Cell:
    """One federation valued with one S, looked at after every K."""

    dataset: str
    case: int
    t: str
    support: int
    seed: int
    rows: int = 500
    rounds: int = ROUNDS[-1]

    def __str__(self) -> str:
        return f"{self.dataset}, case {self.case}, {self.t}, S = {self.support}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × cases × t × S × seeds; the smoke test has few digits and ten rounds."""
    if smoke:
        return [Cell("digits", 5, "t = 0.5", support, 0, rows=60, rounds=PAPER_ROUNDS) for support in (10, 60)]
    rows = Cell.rows
    return [Cell(*choice) for choice in product(DATASETS, CASES, STEPS, (*SUPPORTS, rows), range(3))]


def compute(cell: Cell) -> list[Record]:
    """A record for each K: one run has the rounds of all shorter ones."""
    data = split_dataset(cell.dataset, cell.rows, seed=cell.seed)
    rows = cell.rows * CLIENTS
    clients = fb.partitions.paper_case(data.pool, cell.case, clients=CLIENTS, rows=rows, seed=cell.seed).clients
    protocol = fb.Interpolation(
        support=cell.support,
        rounds=cell.rounds,
        t=STEPS[cell.t],
        allow_reconstruction=True,
        min_group=1,
        tolerance=0.0,
    )
    result = fb.value(
        clients,
        data.reference,
        protocol=protocol,
        seed=cell.seed,
        engine=fb.LocalEngine(workers=1),
    )
    if result.failed:
        return [{"error": next(iter(result.failed.values()))}]
    assert result.schema is not None
    Q = fb.embed(data.reference, result.schema)
    exact = {}
    for name, client in clients.items():
        P = fb.embed(client, result.schema)
        exact[name] = fb.solve(P.points, Q.points, P.weights, Q.weights).distance
    return [
        {"K": rounds, **compared(distances_after(result.history, rounds), exact, noisy=cell.case in NOISY)}
        for rounds in ROUNDS
        if rounds <= cell.rounds
    ]


def distances_after(history: pd.DataFrame, rounds: int) -> dict[str, float]:
    """What a run of so many rounds says: of a target that stays, the lowest estimate so far."""
    lowest = history[history["round"] <= rounds].groupby("client", sort=False)["estimate"].min()
    return {str(client): float(distance) for client, distance in lowest.items()}


def compared(found: Mapping[str, float], exact: Mapping[str, float], *, noisy: bool) -> dict[str, float]:
    """How far distances are from the exact ones and what order they give, also against noise that grows by client."""
    from scipy.stats import spearmanr

    truth = np.array(list(exact.values()))
    ours = np.array([found[name] for name in exact])
    known: dict[str, float] = {}
    if noisy:
        noise = np.arange(len(truth))
        known = {"spearman_noise": spearmanr(ours, noise)[0], "exact_noise": spearmanr(truth, noise)[0]}
    return {
        "distance": float(ours.mean()),
        "relative_error": float((ours / truth - 1.0).mean()),
        "spearman_exact": float(spearmanr(ours, truth)[0]),
        "same_order": float((np.argsort(ours) == np.argsort(truth)).all()),
        **{name: float(value) for name, value in known.items()},
        **{name: float(value) for name, value in zip(OWN, ours, strict=True)},
        **{f"exact_{name}": float(value) for name, value in zip(OWN, truth, strict=True)},
    }


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; S = rows is called m."""
    support = records["support"].astype(str).where(records["support"] < records["rows"], ALL_ROWS)
    return mean_and_spread(records.assign(S=support), ["dataset", "case", "t", "S", "K"], METRICS)


def markdown(final: pd.DataFrame) -> str:
    """One block per data set and case: t and S down, K across."""
    titles = {
        "relative_error": "distance / exact distance − 1, mean of the five clients",
        "spearman_exact": "Spearman correlation with the exact distances",
        "same_order": "share of seeds in which the order of the clients is that of the exact distances",
        "spearman_noise": "Spearman correlation with the true share of noise",
    }
    named = final.assign(block=_blocks(final))
    return (
        "# Points and rounds\n\nFive clients of 500 rows with 0, 5, 10, 15 and 20 % wrong labels (case 4) or noisy "
        "rows (case 5), and 500 validation rows; in case 2 each has 80 % of two classes, in case 3 from 10 to 30 % of "
        "the rows. S points (m: 500) down, K rounds across. The paper has a figure and no numbers: K hardly matters, "
        "the distance approaches the exact one with S, and the order of the clients is the same for every S. Mean ± "
        "standard deviation over seeds.\n\n"
        + pivots(named, by="block", down=["t", "S"], across="K", titles=titles, digits=2)
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """What K changes, and what S does to distance and order: in the paper's noisy cases, and the order in every one."""
    found = {}
    known = final[final["seeds"] > 0]
    for t, word in (("t = 0.5", "fixed"), ("random t", "random")):
        mine = known[known["t"] == t]
        noisy = mine[mine["case"].isin(NOISY)]
        wide = noisy.pivot_table(index=["dataset", "case", "S"], columns="K", values="distance")
        for few in (1, 5, PAPER_ROUNDS):
            if few in wide and ROUNDS[-1] in wide:
                found[f"falls_from_{few}_to_50_{word}"] = float((1.0 - wide[ROUNDS[-1]] / wide[few]).mean())
        for points, group in noisy[noisy["K"] == PAPER_ROUNDS].groupby("S", sort=False):
            found[f"error_s_{points}_{word}"] = float(group["relative_error"].mean())
            found[f"same_order_s_{points}_{word}"] = float(group["same_order"].mean())
        for (case, support), group in mine[mine["K"] == PAPER_ROUNDS].groupby(["case", "S"], sort=False):
            place = f"case{case}_s_{support}_{word}"
            found[f"spearman_exact_{place}"] = float(group["spearman_exact"].mean())
            if case in NOISY:
                found[f"spearman_noise_{place}"] = float(group["spearman_noise"].mean())
    for case in NOISY:
        exact = known.loc[known["case"] == case, "exact_noise"]
        if len(exact):
            found[f"exact_noise_case{case}"] = float(exact.mean())
    return found


def pictures(final: pd.DataFrame) -> list[Display]:
    """The paper's figure: distances of the clients by S; and how far they are from exact by S and by K."""
    from fedbary_lab.plots import curves

    known = final[(final["seeds"] > 0) & final["case"].isin(NOISY)].reset_index(drop=True)
    known = known.assign(block=_blocks(known), K=known["K"].astype(int))
    after = known[known["K"] == PAPER_ROUNDS]
    middle = known[known["S"] == MIDDLE]
    labels = {"S": "number of points S (m: as many as rows)", "relative_error": "distance / exact distance − 1"}
    return [
        curves(
            _by_client(after),
            x="client",
            y="distance",
            by="S",
            panel="block",
            name="support-clients",
            title="Distances of five clients with more and more noise, by the number of points, after ten rounds.",
            labels={"distance": "distance, t = 0.5"},
        ),
        curves(
            after[["block", "S", "t", "relative_error"]],
            x="S",
            y="relative_error",
            by="t",
            panel="block",
            name="support",
            title="How far the distance is from the exact one, by the number of points, after ten rounds.",
            labels=labels,
        ),
        curves(
            middle[["block", "K", "t", "relative_error"]],
            x="K",
            y="relative_error",
            by="t",
            panel="block",
            name="rounds",
            title="How far the distance is from the exact one, by the number of rounds.",
            labels=labels | {"K": f"rounds K, S = {MIDDLE}"},
        ),
    ]


def _by_client(after: pd.DataFrame) -> pd.DataFrame:
    """The distances with t = 0.5, and the exact ones once per block, one row per client."""
    import pandas as pd

    mine = after[after["t"] == "t = 0.5"]
    once = mine.drop_duplicates("block").assign(S=EXACT)
    once = once.assign(**{name: once[f"exact_{name}"] for name in OWN})
    both = pd.concat([mine, once], ignore_index=True)
    return both[["block", "S", *OWN]].melt(["block", "S"], list(OWN), "client", "distance")


def _blocks(final: pd.DataFrame) -> list[str]:
    places = zip(final["dataset"], final["case"], strict=True)
    return [f"{dataset}, case {case:.0f}: {CASES[int(case)]}" for dataset, case in places]
