"""The ε that an attacker measures, beside the one that is claimed: a game between two tables that differ in one row.

The server knows all rows but one and asks whether that one is the person it looks for. Its sketch is a rounding trap:
two points so close to where all rows lie that the cost of each of them, computed through a matrix product, depends on
how many different rows there are. In floating point that made the answers of two neighbours as different as those of
two unrelated tables. Costs in whole numbers, each a function of its own row, leave what ε allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import beta

import fedbary as fb
from fedbary.privacy.noise import GRID
from fedbary.protocols.sketch.answer import Sums, noisy_costs, relaxed_cost, released_sums, units_per_row
from fedbary.protocols.sketch.sketch import SketchPoints
from fedbary.space.columns import CategorySpec
from fedbary.space.labels import LabelSpec
from fedbary.space.schema import Schema
from fedbary.transport.solve import cost_matrix
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.fact_names import fact_name
from fedbary_lab.experiments.tables import markdown_table

if TYPE_CHECKING:
    import pandas as pd

PERSON = "the person looked for"
WIDTH, FAR, TRIES = 64, 1e6, 3000
MISS = 0.025


@dataclass(frozen=True)
class Cell:
    """One game: a table of so many rows and classes, ε, and how many threads linear algebra may use."""

    classes: int
    rows: int
    epsilon: float
    threads: int
    trials: int = 2500

    def __str__(self) -> str:
        return f"{self.classes} classes, {self.rows} rows, ε = {self.epsilon:g}, {self.threads} threads"


def cells(smoke: bool) -> list[Cell]:
    """1 to 10 classes × row counts × ε × threads."""
    if smoke:
        return [Cell(3, 200, 0.1, 1, 100)]
    return [Cell(*choice) for choice in product(range(1, 11), (100, 1000, 5000), (0.1, 1.0), (1, 2))]


def compute(cell: Cell) -> list[Record]:
    """How far the person's row moves the answer, with products of matrices and now, and the ε that the game finds."""
    from threadpoolctl import threadpool_limits

    schema, sketch = rounding_trap(cell.classes)
    tables = [neighbour(cell.rows, cell.classes, person=person) for person in (False, True)]
    with threadpool_limits(cell.threads):
        means = [_mean_in_floats(table, schema, sketch) for table in tables]
        without, with_person = (released_sums(table, schema, sketch) for table in tables)
    measured = measured_epsilon(
        without, with_person, sketch, rows=cell.rows, epsilon=cell.epsilon, trials=cell.trials
    )  # fmt: skip
    return [
        {
            "floats": cell.rows * abs(means[1] - means[0]) / sketch.cap,
            "integers": abs(with_person.nearest - without.nearest) / GRID,
            "measured": measured,
        }
    ]


def rounding_trap(classes: int) -> tuple[Schema, SketchPoints]:
    """A space and a sketch in which a matrix product rounds rows by how many there are: the worst of many tries."""
    rng = np.random.default_rng(0)
    worst = -1.0
    for _ in range(TRIES):
        place = FAR * rng.standard_normal(WIDTH)
        target = place.copy()
        target[0] += 50.0
        row, person = np.append(place, 0.0), np.append(target, 0.0)
        near = row.copy()
        near[:WIDTH] += 1e-6 * rng.standard_normal(WIDTH)
        points = np.vstack([-row, near])
        alone = cost_matrix(np.vstack([row] * classes), points, 2)[:, 1]
        beside = cost_matrix(np.vstack([person, *[row] * classes]), points, 2)[1:, 1]
        moved = abs(float((alone > 0).mean() - (beside > 0).mean()))
        if moved > worst:
            costs = np.concatenate([alone, beside])
            cap = costs[costs > 0].min() / 2.0 if costs.any() else 1e-4
            worst, found = moved, (place, target, points, float(cap))
        if worst == 1.0:
            break
    place, target, points, cap = found
    metric = np.zeros((WIDTH, WIDTH))
    metric[0], metric[-1] = target, place
    categories = (PERSON, *(f"nobody {i}" for i in range(WIDTH - 2)))
    label = LabelSpec("label", "classes", "onehot", weight=0.0)
    schema = Schema((CategorySpec("name", categories=categories),), label, "refuse", whitening=metric)
    return schema, SketchPoints(points, np.array([1.0 - 1e-9, 1e-9]), np.zeros(2), cap)


def neighbour(rows: int, classes: int, *, person: bool) -> fb.Table:
    """A table of strangers; in its neighbour one of them is the person."""
    names = np.array([f"stranger {row}" for row in range(rows)], dtype=object)
    if person:
        names[rows // 3] = PERSON
    return fb.Table({"name": names}, np.array([f"class {row % classes}" for row in range(rows)]))


def measured_epsilon(one: Sums, other: Sums, sketch: SketchPoints, *, rows: int, epsilon: float, trials: int) -> float:
    """A lower bound of the ε of two tables' answers that holds in 19 of 20 games.

    The attacker knows both tables, and says of an answer that it is the second's where that is the more likely.
    """
    first, second = (np.array([sums.transport / units_per_row(rows), sums.nearest]) for sums in (one, other))
    said = []
    for sums in (one, other):
        answers = [noisy_costs(sums, rows, sketch, epsilon) for _ in range(trials)]
        seen = np.array([[answer.cost, answer.relaxed] for answer in answers]) * (GRID * rows / sketch.cap)
        said.append(int((np.abs(seen - first).sum(axis=1) > np.abs(seen - second).sum(axis=1)).sum()))
    ratios = log_ratio(said[1], said[0], trials), log_ratio(trials - said[0], trials - said[1], trials)
    return max(0.0, *ratios)


def log_ratio(more: int, fewer: int, trials: int) -> float:
    """Log of the least that the first rate can be over the most that the second can be (Clopper–Pearson)."""
    low = float(beta.ppf(MISS, more, trials - more + 1)) if more else 0.0
    high = float(beta.ppf(1.0 - MISS, fewer + 1, trials - fewer)) if fewer < trials else 1.0
    return float(np.log(low / high)) if low > 0 else -np.inf


def table(records: pd.DataFrame) -> pd.DataFrame:
    """The worst over row counts and threads, for each number of classes and ε."""
    grouped = records.groupby(["classes", "epsilon"], sort=False)
    return grouped[["floats", "integers", "measured"]].max().reset_index()


def markdown(final: pd.DataFrame) -> str:
    """One line per number of classes and ε."""
    lines = [
        [
            *(f"{row[key]:g}" for key in ("classes", "epsilon")),
            *(f"{row[key]:.3f}" for key in ("floats", "integers", "measured")),
        ]
        for row in final.to_dict("records")
    ]
    header = ["classes", "claimed ε", "rows' worth in floats", "rows' worth released", "measured ε"]
    return (
        "# The ε that an attacker measures\n\n"
        "Two tables of 100, 1000 and 5000 rows that differ in one, linear algebra with one and with two threads; the "
        "worst of these. How far the row moves the mean cost, in units of what one row may move it: computed through "
        "products of matrices, and in the integers that are released. The measured ε is a Clopper–Pearson lower bound "
        "(95 %) from 2,500 answers of each table.\n\n" + markdown_table(header, lines) + "\n"
    )


def facts(final: pd.DataFrame) -> dict[str, float]:
    """``measured_eps_1``: the most that was measured; ``above``: games that found more than is claimed; ``floats``."""
    most = {
        fact_name("measured", f"ε = {epsilon:g}"): part.max() for epsilon, part in final.groupby("epsilon")["measured"]
    }
    above = (final["measured"] > final["epsilon"]).sum()
    return most | {"above": above, "floats": final["floats"].max(), "integers": final["integers"].max()}


def _mean_in_floats(rows: fb.Table, schema: Schema, sketch: SketchPoints) -> float:
    cloud = fb.embed(rows, schema)
    return relaxed_cost(cloud, sketch)
