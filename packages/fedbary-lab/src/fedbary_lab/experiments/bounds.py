"""The paper's two theorems: A^(k) along the rounds, and the bound of the validation loss (`loss_bound`).

Theorem 1 says that A^(k) = Σ W(P_i, γ_i^(k)) + W(γ_i^(k), Q^(k)) never rises and converges to Σ W(P_i, Q). Its proof
takes interpolating measures on true geodesics, and for a moving Q the exact barycenter of all γ_i in every round.
Algorithm 1 has neither: eq. 6 projects the plan, which is a geodesic only where the plan is a matching (S = rows, and Q
as large), and line 7 takes one step towards the barycenter. Each is varied: Q moving or fixed, t = 0.5 or drawn anew,
the measure in between projected or exact, S = rows or a fifth of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary_lab.experiments import loss_bound
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.gaussians import PLANE, gaussians, tables_of
from fedbary_lab.experiments.loss_bound import LossCell
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number, stacked

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

Floats = NDArray[np.float64]

GAUSSIANS = "three Gaussians"
SEEDS = {GAUSSIANS: 10, "fashion-mnist": 5}
MOVING, FIXED = "moving", "fixed"
# Rows of a client and rounds: an exact measure doubles in every round.
SIZES = {"projected": (100, 30), "exact": (30, 5)}
ALL_ROWS, A_FIFTH = "rows", "rows / 5"
LOOKED_AT = (1, 2, 3, 5, 10, 20, 30)
# Relative rise of A^(k) that counts as none: solvers round.
ROUNDING = 1e-9
KEYS = ["data", "target", "walk", "support", "t"]
METRICS = ("rounds", "risen", "runs_risen", "largest_rise", "gap", *(f"a_{k}" for k in LOOKED_AT))


@dataclass(frozen=True)
class Cell:
    """One run, round by round."""

    data: str
    target: str
    walk: str
    support: str
    t: str
    seed: int
    rows: int
    rounds: int

    def __str__(self) -> str:
        return f"Theorem 1, {self.data}, {self.target} Q, {self.walk}, S = {self.support}, {self.t}, seed {self.seed}"


def cells(smoke: bool) -> list[Cell | LossCell]:
    """Everything that the proof assumes or the algorithm leaves out, × seeds; then Theorem 2."""
    choices = product((MOVING, FIXED), SIZES, (ALL_ROWS, A_FIFTH), ("t = 0.5", "random t"))
    if smoke:
        few = [(target, walk, A_FIFTH, "t = 0.5") for target, walk in product((MOVING, FIXED), SIZES)]
        return [*(Cell(GAUSSIANS, *choice, 0, 20, 3) for choice in few), *loss_bound.cells(smoke)]
    rounds = [
        Cell(data, *choice, seed, *SIZES[choice[1]])
        for choice in choices
        for data, seeds in SEEDS.items()
        for seed in range(seeds)
    ]
    return [*rounds, *loss_bound.cells(smoke)]


def compute(cell: Cell | LossCell) -> list[Record]:
    """How often and how far A^(k) rose, and how far it stays above Σ W(P_i, Q)."""
    if isinstance(cell, LossCell):
        return loss_bound.compute(cell)
    clients, reference, space = _federation(cell)
    protocol = fb.Interpolation(
        support=cell.rows if cell.support == ALL_ROWS else cell.rows // 5,
        rounds=cell.rounds,
        t=0.5 if cell.t == "t = 0.5" else None,
        interpolation="exact" if cell.walk == "exact" else "barycentric",
        allow_reconstruction=True,
        min_group=1,
        tolerance=0.0,
    )
    result = fb.value(
        clients,
        reference,
        protocol=protocol,
        space=space,
        seed=cell.seed,
        engine=fb.LocalEngine(workers=1),
    )
    if result.failed:
        return [{"error": next(iter(result.failed.values()))}]
    assert result.schema is not None
    target = fb.embed(reference, result.schema) if reference is not None else None
    Q, weights = (result.target, None) if target is None else (target.points, target.weights)
    assert Q is not None
    clouds = [fb.embed(client, result.schema) for client in clients.values()]
    exact = sum(fb.solve(cloud.points, Q, cloud.weights, weights).distance for cloud in clouds)
    by_round = result.history.groupby("round")["estimate"]
    sums = by_round.sum()[by_round.count() == len(clients)].to_numpy()  # a client may stop early, being too large
    return [{"theorem": 1, **along(sums, exact)}]


def along(sums: Sequence[float] | Floats, exact: float) -> dict[str, float]:
    """What a sequence A^(0), A^(1), … says about the theorem.

    Examples
    --------
    >>> along([4.0, 3.0, 3.3, 2.2], 2.0)["risen"], round(along([4.0, 3.0, 3.3, 2.2], 2.0)["largest_rise"], 6)
    (1.0, 0.1)
    """
    A = np.asarray(sums, dtype=float)
    rises = A[1:] / A[:-1] - 1.0
    return {
        "rounds": float(len(rises)),
        "risen": float((rises > ROUNDING).sum()),
        "runs_risen": float((rises > ROUNDING).any()),
        "largest_rise": float(max(rises.max(), 0.0)),
        "gap": float(A[-1] / exact - 1.0),
        **{f"a_{k}": float(A[k] / A[0]) for k in LOOKED_AT if k < len(A)},
    }


def _federation(cell: Cell) -> tuple[dict[str, fb.Table], fb.Table | None, fb.Space | None]:
    """Three Gaussians and a fourth in their middle, or the paper's case 5 and clean rows."""
    if cell.data == GAUSSIANS:
        points = gaussians(cell.rows, seed=cell.seed)
        centre = np.random.default_rng([cell.seed, 2]).standard_normal((cell.rows, 2)) + np.mean(points, axis=(0, 1))
        reference = next(iter(tables_of([centre]).values()))
        return tables_of(points), reference if cell.target == FIXED else None, PLANE
    data = split_dataset(cell.data, cell.rows, seed=cell.seed)
    clients = fb.partitions.paper_case(data.pool, 5, clients=5, rows=5 * cell.rows, seed=cell.seed).clients
    return clients, data.reference if cell.target == FIXED else None, None


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, and the largest rise of all seeds."""
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, *KEYS, "strength"])])
    second = records["strength"].notna()
    tables = ((_along_the_rounds, ~second), (loss_bound.table, second))
    final = stacked([make(records[mine].reset_index(drop=True)) for make, mine in tables if mine.any()])
    return final.reindex(columns=[*dict.fromkeys([*final.columns, *KEYS])])


def _along_the_rounds(records: pd.DataFrame) -> pd.DataFrame:
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, *METRICS])])
    most = records.groupby(KEYS)["largest_rise"].max().rename("most_rise").reset_index()
    return mean_and_spread(records, KEYS, METRICS).merge(most, how="left").assign(theorem=1)


def markdown(final: pd.DataFrame) -> str:
    """Theorem 1 by data, then Theorem 2."""
    parts = ["# The paper's theorems\n"]
    first, second = final[final["theorem"] == 1], final[final["theorem"] == 2]
    if len(first):
        parts += [
            "## Theorem 1: A^(k) along the rounds\n",
            "A^(k) should never rise, and come down to Σ W(P_i, Q). The proof assumes interpolating measures on true "
            "geodesics, and for a moving Q its barycenter in every round. *Exact* measures are such; *projected* ones "
            "(eq. 6) are only where plans are matchings: S = rows, and Q as large. A moving Q takes one step towards "
            "the barycenter. Exact measures double in every round: 30 rows and 5 rounds, against 100 rows and 30 "
            "rounds. Mean ± standard deviation over seeds.\n",
        ]
        header = [
            *("Q", "measure", "S", "t", "rounds that rose", "runs with one", "largest rise"),
            "A^(K) / Σ W(P_i, Q) − 1",
        ]
        for data, group in first[first["seeds"] > 0].groupby("data", sort=False):
            rows = [
                [
                    *(str(row[key]) for key in KEYS[1:]),
                    f"{row['risen'] * row['seeds']:.0f} of {row['rounds'] * row['seeds']:.0f}",
                    f"{row['runs_risen'] * row['seeds']:.0f} of {row['seeds']}",
                    f"{100 * row['most_rise']:.3f} %",
                    number(row["gap"], row["gap_sd"], 4),
                ]
                for row in group.to_dict("records")
            ]
            parts += [f"### {data}\n", markdown_table(header, rows), ""]
    if len(second):
        parts.append(loss_bound.markdown(second))
    parts += errors(first, KEYS)
    return "\n".join(parts).rstrip() + "\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """Rises of A^(k) by what the proof assumes, how far it stays above its limit, and the numbers of Theorem 2."""
    found = {}
    first = final[(final["theorem"] == 1) & (final["seeds"] > 0)]
    for (target, walk, support), group in first.groupby(["target", "walk", "support"], sort=False):
        place = f"{target}_{walk}_{'all_rows' if support == ALL_ROWS else 'a_fifth'}"
        found[f"risen_{place}"] = float((group["risen"] * group["seeds"]).sum())
        found[f"rounds_{place}"] = float((group["rounds"] * group["seeds"]).sum())
        found[f"largest_rise_{place}"] = float(group["most_rise"].max())
        found[f"gap_{place}"] = float(group["gap"].mean())
    second = final[final["theorem"] == 2]
    return found | (loss_bound.facts(second) if len(second) else {})


def pictures(final: pd.DataFrame) -> list[Display]:
    """A^(k) along the rounds; and the validation loss against the distance, by kind of noise."""
    from fedbary_lab.plots import curves, scatter

    shown = []
    first = final[(final["theorem"] == 1) & (final["walk"] == "projected") & (final["data"] == GAUSSIANS)]
    if len(first):
        columns = [f"a_{k}" for k in LOOKED_AT]
        lines = first.melt(KEYS, columns, "k", "sum").dropna(subset="sum")
        lines = lines.assign(
            k=lines["k"].str.removeprefix("a_").astype(int), setting="S = " + lines["support"] + ", " + lines["t"]
        )
        shown.append(
            curves(
                lines.sort_values("k")[["target", "setting", "k", "sum"]].reset_index(drop=True),
                x="k",
                y="sum",
                by="setting",
                panel="target",
                name="bounds-rounds",
                title="The sum of Theorem 1 along the rounds, divided by its first, of three Gaussians.",
                labels={"k": "round", "sum": "A^(k) / A^(0)"},
            )
        )
    second = final[final["theorem"] == 2]
    if len(second):
        points = second[(second["share"] != loss_bound.ALL) & (second["strength"] == 1.0)]
        points = points.assign(noise=points["noise"].map(loss_bound.NOISES))
        shown.append(
            scatter(
                points[["dataset", "noise", "share", "distance", "validation_loss"]].reset_index(drop=True),
                x="distance",
                y="validation_loss",
                by="noise",
                panel="dataset",
                name="bounds-loss",
                title="Validation loss against the distance of clients with more and more noise.",
                labels={"distance": "W(P, Q)", "validation_loss": "validation loss"},
            )
        )
    return shown
