"""What ε costs and what it buys: how much of the exact ranking is left, beside what an attacker learns of one row.

Twenty clients of equal size with 0 to 40 % spoilt rows. Their answers are computed once and get noise many times over:
the rank correlation is that of the private with the exact numbers. The attacker knows a client's whole table but one
row and says by likelihood whether that row is the one that costs most or a copy of the one that costs least.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import fedbary as fb
from fedbary.privacy.noise import GRID, row_costs
from fedbary.protocols.sketch.answer import Sums, exact_answer, noisy_costs, noisy_shares, released_sums, units_per_row
from fedbary.protocols.sketch.numbers import PublicJudge, client_numbers
from fedbary.protocols.sketch.server import SketchServer
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.encode import row_points
from fedbary.space.schema import Schema
from fedbary.valuation.rows import RowRules
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number

if TYPE_CHECKING:
    import pandas as pd

MOST_NOISE = 0.4
EPSILONS = (8.0, 2.0, 1.0, 0.3, 0.1)
DATASETS = {"fashion-mnist": (2000, (100, 250, 500, 1000, 2500)), "dry-bean": (1500, (100, 500, 2500, 10_000))}
# An ε at which the noise of a few hundred rows is none.
_HARDLY_NOISE = 1e9
MEASURES = ("quality", "distance", "advantage")


@dataclass(frozen=True)
class Cell:
    """Twenty clients of one draw and one size; ``noise`` says what is wrong with their rows."""

    dataset: str
    noise: str
    rows: int
    seed: int
    reference_rows: int
    clients: int = 20
    draws: int = 50
    trials: int = 1000

    def __str__(self) -> str:
        return f"{self.dataset}, {self.noise}, {self.rows} rows, seed {self.seed}"


def cells(smoke: bool) -> list[Cell]:
    """Data sets × kinds of noise × rows × seeds; the smoke test has five clients of few digits."""
    if smoke:
        return [Cell("digits", "labels", rows, 0, 300, 5, 3, 50) for rows in (50, 200)]
    return [
        Cell(dataset, noise, rows, seed, reference_rows)
        for dataset, (reference_rows, sizes) in DATASETS.items()
        for seed, noise, rows in product(range(5), ("labels", "features"), sizes)
    ]


def compute(cell: Cell) -> list[Record]:
    """One record per ε."""
    data = split_dataset(cell.dataset, cell.reference_rows, seed=cell.seed)
    asked, server = _servers(cell.dataset, cell.reference_rows, cell.seed)
    schema, sketch, question, rates = server.schema, server.sketch, server.question(), server.rates
    judge = PublicJudge.of(question.scalars, question.arrays, schema)
    assert rates is not None
    exact, sums = [], []
    for client, share in enumerate(np.linspace(0.0, MOST_NOISE, cell.clients)):
        seed = 10_000 * (cell.seed + 1) + client
        chosen = data.rows(cell.rows, np.inf, seed=seed)
        table = data.client(chosen, cell.noise, float(share), seed=seed).table
        exact.append(exact_answer(fb.embed(table, schema), asked, improved=False).cost)
        sums.append(released_sums(table, schema, sketch, judge))
        if client == 0:
            neighbours = sums[0], without_dearest(table, schema, sketch)

    def quality(one: Sums, epsilon: float) -> float:
        numbers = {"rows": float(cell.rows), **noisy_shares(one, cell.rows, schema, epsilon)}
        made = rates.columns(numbers, epsilon)
        return client_numbers(made)["quality"]

    without_noise = [quality(one, _HARDLY_NOISE) for one in sums]
    records: list[Record] = []
    for epsilon in EPSILONS:
        ranks = [
            (
                _order_kept([quality(one, epsilon) for one in sums], without_noise),
                _order_kept([noisy_costs(one, cell.rows, sketch, epsilon).cost for one in sums], exact),
            )
            for _ in range(cell.draws)
        ]
        good, distance = np.array(ranks).mean(axis=0)
        advantage = membership_advantage(*neighbours, sketch, rows=cell.rows, epsilon=epsilon, trials=cell.trials)
        records.append({"epsilon": epsilon, "quality": good, "distance": distance, "advantage": advantage})
    return records


def _order_kept(noisy: list[float], exact: list[float]) -> float:
    """Spearman correlation; 0 where all are alike, as where noise puts everybody beyond the bounds."""
    from scipy.stats import spearmanr

    if len(set(noisy)) == 1 or len(set(exact)) == 1:
        return 0.0
    return float(spearmanr(noisy, exact)[0])


def without_dearest(table: fb.Table, schema: Schema, sketch: SketchPoints) -> Sums:
    """The sums of a neighbour: the row that costs most is replaced by a copy of the one that costs least."""
    nearest = row_costs(row_points(table, schema), sketch.points, sketch.cap).min(axis=1)
    rows = np.arange(len(table))
    rows[nearest.argmax()] = nearest.argmin()
    return released_sums(table.replace(ids=None).take(rows), schema, sketch)


def membership_advantage(
    one: Sums, other: Sums, sketch: SketchPoints, *, rows: int, epsilon: float, trials: int
) -> float:
    """True less false positives of an attacker who goes by the likelihood of an answer."""
    first, second = (_costs(sums, rows, sketch) for sums in (one, other))
    said = []
    for sums in (one, other):
        answers = [noisy_costs(sums, rows, sketch, epsilon) for _ in range(trials)]
        seen = np.array([[answer.cost, answer.relaxed] for answer in answers])
        said.append((np.abs(seen - first).sum(axis=1) < np.abs(seen - second).sum(axis=1)).mean())
    return float(said[0] - said[1])


@lru_cache(maxsize=1)
def _servers(dataset: str, reference_rows: int, seed: int) -> tuple[SketchPoints, SketchServer]:
    """The sketch that a server sends without ε, and the server with it."""
    reference = split_dataset(dataset, reference_rows, seed=seed).reference
    exact, private = (
        SketchServer(settings, [], reference, settings.space(None), rules=RowRules(), seed=seed)
        for settings in (fb.Sketch(), fb.Sketch(epsilon=1.0))
    )
    return exact.sketch, private


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds."""
    return mean_and_spread(records, ["dataset", "noise", "rows", "epsilon"], list(MEASURES))


def markdown(final: pd.DataFrame) -> str:
    """Per data set: noise and rows down, ε across; and the membership advantage, which hardly depends on either."""
    parts = [
        "# What ε costs and buys\n",
        "Spearman correlation of the private with the exact ranking of twenty clients with 0 to 40 % spoilt rows "
        "(wrong labels, or features with noise of one standard deviation), mean ± standard deviation over five draws "
        "of clients and reference, each with fifty draws of the noise.\n",
    ]
    for dataset, group in final.groupby("dataset", sort=False):
        for measure in ("quality", "distance"):
            parts += [f"**{dataset}, `{measure}`**\n", _pivot(group, measure), ""]
    bound = {epsilon: np.tanh(epsilon / 2.0) for epsilon in EPSILONS}
    measured = final.groupby("epsilon", sort=False)["advantage"].mean()
    parts += [
        "**Membership advantage** (true less false positives about one row, for an attacker who knows all others): the "
        "most that ε allows, (e^ε − 1)/(e^ε + 1), and what was measured with the row that costs most, mean of all "
        "settings above.\n",
        markdown_table(
            ["", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)],
            [
                ["bound", *(number(bound[epsilon]) for epsilon in EPSILONS)],
                ["measured", *(number(measured.get(epsilon, np.nan)) for epsilon in EPSILONS)],
            ],
        ),
    ]
    return "\n".join([*parts, "", *errors(final, ["dataset", "noise", "rows"])]).rstrip() + "\n"


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``quality_dry_bean_labels_500_eps_1``, ``advantage_eps_1``, ``bound_eps_1``, …; ranges at 500 rows and ε = 1."""
    found = {
        fact_name(measure, row["dataset"], row["noise"], row["rows"], f"ε = {row['epsilon']:g}"): row[measure]
        for row in final.to_dict("records")
        for measure in ("quality", "distance")
    }
    for epsilon, group in final.groupby("epsilon", sort=False):
        found[fact_name("advantage", f"ε = {epsilon:g}")] = group["advantage"].mean()
        found[fact_name("bound", f"ε = {epsilon:g}")] = np.tanh(float(str(epsilon)) / 2.0)
    usual = final[(final["rows"] == 500) & (final["epsilon"] == 1.0)]
    for measure in ("quality", "distance"):
        found |= {f"{measure}_least": usual[measure].min(), f"{measure}_most": usual[measure].max()}
    return found


def _pivot(group: pd.DataFrame, measure: str) -> str:
    lines = []
    for (noise, rows), part in group.groupby(["noise", "rows"], sort=False):
        found = {row["epsilon"]: number(row[measure], row[f"{measure}_sd"]) for row in part.to_dict("records")}
        lines.append([str(noise), f"{rows:,}", *(found.get(epsilon, "–") for epsilon in EPSILONS)])
    return markdown_table(["spoilt", "rows", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)], lines)


def _costs(sums: Sums, rows: int, sketch: SketchPoints) -> np.ndarray:
    """Where an answer without noise would lie."""
    return np.array([sums.transport / units_per_row(rows), sums.nearest]) * (sketch.cap / (GRID * rows))
