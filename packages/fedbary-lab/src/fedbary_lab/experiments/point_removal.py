"""Point removal (the paper's Figure 5 b and d): accuracy as the rows that a method likes least, or most, are left out.

A client's rows are valued by every method; then a logistic regression is fitted to what is left after every further
5 % of the rows, up to 60 %, and judged by 1000 test rows that no method has seen. First in the paper's setting:
CIFAR-10 embeddings, every tenth row with standard Gaussian noise on its features or with a wrong label, and the methods
that the paper compares. It does not say how many rows it has: here 500, and as many reference rows. Then in a harder
one: 300 rows, a fifth of them spoilt, two data sets, and every row method that there is. *random* is what any order
gives; *oracle* knows which rows were spoilt, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import fedbary as fb
from fedbary.space.encode import features
from fedbary.space.labels import class_names
from fedbary_lab.baselines.classifiers import class_schema, fitted
from fedbary_lab.comparison.measures import auroc
from fedbary_lab.experiments.cells import Record
from fedbary_lab.experiments.federations import split_dataset
from fedbary_lab.experiments.removal_methods import (
    COMPARED,
    FEW,
    LEAN,
    METHODS,
    PERMUTATIONS,
    RIVALS,
    SAMPLES,
    UPDATES,
    Draw,
)
from fedbary_lab.experiments.tables import errors, markdown_table, mean_and_spread, number

if TYPE_CHECKING:
    import pandas as pd

    from fedbary.views.plots import Display

Floats = NDArray[np.float64]
Order = NDArray[np.intp]
Rows = Sequence[Mapping[Hashable, Any]]

PAPER, HARDER = "paper", "harder"
DATASETS = ("cifar10-embeddings", "fashion-mnist")
# Setting and kind → what spoils the rows, and how that is called.
KINDS = {
    (PAPER, "features"): ("standard", 0.1, "10 % of the rows with noise N(0, 1)"),
    (PAPER, "labels"): ("labels", 0.1, "10 % of the labels wrong"),
    (HARDER, "features"): ("features", 0.2, "20 % of the rows with noise of 1 σ"),
    (HARDER, "labels"): ("labels", 0.2, "20 % of the labels wrong"),
}
# Clients whose cards judge each other where there is no reference; all are spoilt alike.
CARDS = 5
# Percent of the rows left out.
STEPS = tuple(range(0, 61, 5))
SHOWN = (0, 10, 20, 30, 40, 50, 55, 60)
# Of the judge alone. Cross-validation on the spoilt rows of the harder setting chooses this in eight of the twelve
# draws, 0.1 in four.
STRENGTH = 0.01
METRICS = (
    "worst_first", "above_random", "best_first", "below_random", "place", "gap", "auroc", "seconds",
    *(f"{side}_{step}" for side in ("worst", "best") for step in STEPS),
)  # fmt: skip
DRAW = ["setting", "dataset", "kind", "seed"]


@dataclass(frozen=True)
class Cell:
    """One method on one spoilt client."""

    setting: str
    dataset: str
    kind: str
    seed: int
    method: str
    rows: int = 300
    reference_rows: int = 300
    test_rows: int = 1000

    def __str__(self) -> str:
        return f"{self.setting}, {self.dataset}, {self.kind}, seed {self.seed}, {self.method}"


def cells(smoke: bool) -> list[Cell]:
    """All cells, those that refit thousands of models last; for a smoke test three methods on wrong digits."""
    if smoke:
        return [
            Cell(PAPER, "digits", "labels", 0, method, 100, 150, 300) for method in ("random", "oracle", "knn-shapley")
        ]
    quick = [name for name in METHODS if name not in LEAN]
    return [
        *(
            Cell(PAPER, DATASETS[0], kind, seed, method, 500, 500)
            for seed, kind, method in product(range(5), ("features", "labels"), COMPARED)
        ),
        *(
            Cell(HARDER, dataset, kind, seed, method)
            for methods, seeds in ((quick, 3), (tuple(LEAN), 2))
            for seed, dataset, kind, method in product(range(seeds), DATASETS, ("labels", "features"), methods)
        ),
    ]


def compute(cell: Cell) -> list[Record]:
    """Both curves, the areas under them, and how well the values tell spoilt rows from others."""
    draw = drawn(cell)
    started = perf_counter()
    values = METHODS[cell.method](draw, cell.seed)
    seconds = perf_counter() - started
    if not np.isfinite(values).all():
        raise fb.FedbaryError("research.rows-without-value", rows=int(np.sum(~np.isfinite(values))))
    order = removal_order(values, seed=cell.seed)
    judge = Judge(draw.client.table, draw.reference, draw.test)
    worst, best = removal_curve(order, judge.accuracy), removal_curve(order[::-1], judge.accuracy)
    record: Record = {"worst_first": area(worst), "best_first": area(best), "gap": area(worst) - area(best)}
    record |= {"auroc": auroc(values, draw.client.mask), "seconds": seconds}
    record |= {f"worst_{step}": reached for step, reached in zip(STEPS, worst, strict=True)}
    return [record | {f"best_{step}": reached for step, reached in zip(STEPS, best, strict=True)}]


def drawn(cell: Cell) -> Draw:
    """Draw the rows of a cell; the others' have none in common with the client's."""
    data = split_dataset(cell.dataset, cell.reference_rows + cell.test_rows, seed=cell.seed)
    sizes = [cell.reference_rows, cell.test_rows]
    reference, test = fb.partitions.by_size(data.reference, sizes, seed=cell.seed).clients.values()
    kind, share, _ = KINDS[cell.setting, cell.kind]
    own = data.rows(cell.rows, np.inf, seed=cell.seed)
    client = data.client(own, kind, share, seed=cell.seed)
    others: list[fb.Table] = []
    if cell.method == "cards":
        theirs = np.split(data.rows((CARDS - 1) * cell.rows, np.inf, seed=cell.seed + 1, without=own), CARDS - 1)
        others = [data.client(rows, kind, share, seed=1000 + i).table for i, rows in enumerate(theirs)]
    return Draw(client, tuple(others), reference, test)


def removal_order(values: Floats, *, seed: int) -> Order:
    """Rows from the worst to the best; among equals chance decides, so that no method gains from their order.

    Examples
    --------
    >>> removal_order(np.array([0.3, -1.0, 2.0]), seed=0)
    array([1, 0, 2])
    """
    return np.lexsort([np.random.default_rng([seed, 3]).random(len(values)), values])


def removal_curve(order: Order, accuracy: Callable[[Order], float]) -> list[float]:
    """What is reached without the first 0, 5, …, 60 % of an order."""
    return [accuracy(np.sort(order[round(step / 100 * len(order)) :])) for step in STEPS]


def area(curve: list[float]) -> float:
    """Mean accuracy over all steps.

    Examples
    --------
    >>> area([0.75] * 11)
    0.75
    """
    return float(np.mean(curve))


class Judge:
    """A logistic regression with the same C for everybody, fitted to some of the rows and asked about the test rows."""

    def __init__(self, table: fb.Table, reference: fb.Table, test: fb.Table) -> None:
        schema = class_schema(reference, None)
        self._rows, self._test = features(table, schema), features(test, schema)
        self._labels, self._truth = class_names(table.labels), class_names(test.labels)

    def accuracy(self, rows: Order) -> float:
        """Accuracy on the test rows after a fit to the rows at these positions."""
        from sklearn.linear_model import LogisticRegression

        model = fitted(LogisticRegression(C=STRENGTH, max_iter=1000), self._rows[rows], self._labels[rows])
        return float((model.predict(self._test) == self._truth).mean())


def table(records: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds."""
    return mean_and_spread(placed(against_random(records)), ["setting", "dataset", "kind", "method"], METRICS)


def against_random(records: pd.DataFrame) -> pd.DataFrame:
    """Add how far the area of worst first is above that of a random order of the same rows, and best first below."""
    records = records.reindex(columns=[*dict.fromkeys([*records.columns, "worst_first", "best_first"])])
    chance = records.loc[records["method"] == "random", [*DRAW, "worst_first", "best_first"]]
    joined = records.merge(chance, on=DRAW, how="left", suffixes=("", "_by_chance"))
    joined["above_random"] = joined["worst_first"] - joined["worst_first_by_chance"]
    joined["below_random"] = joined["best_first_by_chance"] - joined["best_first"]
    return joined.drop(columns=["worst_first_by_chance", "best_first_by_chance"])


def placed(records: pd.DataFrame) -> pd.DataFrame:
    """Add the place of each of the paper's four methods among them: 1 where best first harms the model most."""
    four = records.loc[records["method"].isin(list(RIVALS)), [*DRAW, "best_first"]]
    return records.assign(place=four.groupby(DRAW)["best_first"].rank())


def facts(final: pd.DataFrame) -> dict[str, float]:
    """What the paper claims of its own setting: falls, places and last steps, by kind of noise and method.

    Of the harder settings what others find, gain and need: ``harder_fashion_mnist_labels_cleanlab_auroc``, ….
    """
    known: dict[str, float] = {}
    for row in final[final["setting"] == HARDER].to_dict("records"):
        name = f"harder_{row['dataset']}_{row['kind']}_{row['method']}".replace("-", "_")
        known |= {f"{name}_{metric}": float(row[metric]) for metric in ("auroc", "above_random", "seconds")}
    for row in final[final["setting"] == PAPER].to_dict("records"):
        name = f"{row['kind']}_{str(row['method']).replace('-', '_')}"
        metrics = ("worst_first", "best_first", "above_random", "below_random", "place", "auroc")
        known |= {f"{name}_{metric}": float(row[metric]) for metric in metrics}
        known |= {f"{name}_{side}_{step}": float(row[f"{side}_{step}"]) for side in ("best", "worst") for step in SHOWN}
        known[f"{name}_below_random_sd"] = float(row["below_random_sd"])
    return {name: value for name, value in known.items() if np.isfinite(value)}


def pictures(final: pd.DataFrame) -> list[Display]:
    """The paper's two panels, noisy features and wrong labels: best first, and worst first."""
    import pandas as pd

    from fedbary_lab.plots import curves

    shown = final[(final["setting"] == PAPER) & (final["errors"] == 0)]
    labels = {"removed": "% of the rows left out", "accuracy": "accuracy on test rows"}
    found = []
    for side, words in (("best", "the best rows go first"), ("worst", "the worst rows go first")):
        points = [
            {"kind": KINDS[PAPER, row["kind"]][2], "method": row["method"], "removed": step, "accuracy": row[key]}
            for row in shown.to_dict("records")
            for step in STEPS
            if (key := f"{side}_{step}")
        ]
        long = pd.DataFrame(points, columns=["kind", "method", "removed", "accuracy"])
        title = f"Accuracy as more of a client's rows are left out; {words}."
        name = f"point-removal-{side}-first"
        picture = curves(
            long, x="removed", y="accuracy", by="method", panel="kind", name=name, title=title, labels=labels
        )
        found.append(picture)
    return found


def markdown(final: pd.DataFrame) -> str:
    """Areas and curves of every method: in the paper's setting, then in the harder one."""
    parts = [
        "# Point removal\n",
        "One client's rows are left out in steps of 5 %, from 0 to 60 %, *worst first* (the lowest values first) and "
        "*best first*; after every step a logistic regression is fitted to the rest. The methods that use a reference "
        "judge rows by the server's reference rows; accuracy is measured on 1000 other rows, which no method has "
        f"seen. The regression has C = {STRENGTH} for everybody and the features as the reference scales them. An area "
        "is the mean accuracy over all steps: high is good for worst first, low is good for best first, so the gap "
        "between both should be large. A gap alone can mislead: leaving out what is unusual harms in either order, and "
        "whoever wants to clean rows needs the first area. *oracle* leaves out the rows that were spoilt, then any; "
        "*random* any. Rows with equal values are in random order. AUROC is that of spoilt rows by value.\n",
        "`sketch`, `cards` and `interpolation` are our protocols and do not hand over rows (`cards` has no reference, "
        f"but the cards of {CARDS} clients that are all spoilt alike). `published` is the paper's FedBary as it was "
        "published, as many points as rows, the numbers as they are. All other methods have both tables in one "
        "place.\n",
        "Mean ± standard deviation over seeds. *above random* and *below random* compare with a random order of the "
        "same rows. The standard error of one accuracy on 1000 rows is about 0.015, but all methods of a seed share "
        "the test rows, and so their errors; the gap of *random* is 0 but for chance.\n",
    ]
    paper = final[final["setting"] == PAPER]
    if len(paper):
        parts += [
            "## The paper's setting\n",
            "CIFAR-10 embeddings, every tenth row spoilt, as the paper has it; 500 rows and 500 reference rows, since "
            "the paper does not say how many it has. It says: LAVA finds the rows that matter most, FedBary is "
            "runner-up; with wrong labels LAVA is slightly better, KNN-Shapley gets stuck at about 55 %, and LOO is "
            "rather random. *place* is that of the paper's four methods (`lava`, `published`, `row-loo`, "
            "`knn-shapley`), 1 for the one whose best rows the model misses most, mean over seeds. Ordered by *below "
            "random*.\n",
            *_tables(paper, "below_random"),
        ]
    harder = final[final["setting"] == HARDER]
    if len(harder):
        parts += [
            "## A harder setting\n",
            "300 rows, a fifth of them spoilt, 300 reference rows. "
            f"{', '.join(f'`{name}`' for name in LEAN)} refit thousands of models: here with {PERMUTATIONS} "
            f"permutations, {SAMPLES} samples and {UPDATES} updates per row (by default 30, 1500 and 16), on "
            f"{FEW.projection} principal directions of the features and a residual, with which the regression is 0.005 "
            "less accurate on average than with all, and for the first two seeds. Everybody else has default settings. "
            "Ordered by *above random*.\n",
            *_tables(harder, "above_random"),
        ]
    parts += errors(final, ["setting", "dataset", "kind", "method"])
    return "\n".join(parts).rstrip() + "\n"


def _tables(final: pd.DataFrame, order: str) -> list[str]:
    parts = []
    for (setting, dataset, kind), group in final.groupby(["setting", "dataset", "kind"], sort=False):
        ordered = group.sort_values([order, "worst_first"], ascending=False).to_dict("records")
        parts += [f"### {dataset}, {KINDS[str(setting), str(kind)][2]}\n", _areas(ordered)]
        parts += ["\n**Accuracy after so many rows were left out**\n", _curves(ordered), ""]
    return parts


def _areas(rows: Rows) -> str:
    columns = {
        "area, worst first": ("worst_first", 3),
        "above random": ("above_random", 3),
        "area, best first": ("best_first", 3),
        "below random": ("below_random", 3),
        "place": ("place", 1),
        "gap": ("gap", 3),
        "AUROC": ("auroc", 2),
    }
    if not any(np.isfinite(row["place"]) for row in rows):
        del columns["place"]
    return markdown_table(
        ["method", *columns, "seconds", "seeds"],
        [
            [
                row["method"],
                *(number(row[metric], row[f"{metric}_sd"], digits) for metric, digits in columns.values()),
                _seconds(row),
                str(row["seeds"]),
            ]
            for row in rows
        ],
    )


def _seconds(row: Mapping[Hashable, Any]) -> str:
    return "–" if row["method"] in ("random", "oracle") else number(row["seconds"], digits=1)


def _curves(rows: Rows) -> str:
    columns = {f"worst first, {step} %": f"worst_{step}" for step in SHOWN}
    columns |= {f"best first, {step} %": f"best_{step}" for step in SHOWN if step}
    lines = [[row["method"], *(number(row[key]) for key in columns.values())] for row in rows]
    return markdown_table(["method", *columns], lines)
